"""Reading the bytes of an open database leaves SQLite's locks as they are."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from recollect import Memory, Message
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.raw_files import open_raw
from recollect.testing.models import HashEmbedder

ALONE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
try:
    print(connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0])
except sqlite3.OperationalError as exc:
    print(exc)
"""


def another_process_finds(file):
    """Another process can leave the log mode only if it finds nobody else's locks."""
    done = subprocess.run([sys.executable, "-c", ALONE, file], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def descriptors_of(file):
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{fd}") == str(file)]


async def test_forgetting_keeps_the_locks_of_the_process(tmp_path):
    file = tmp_path / "b.bank"
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        await bank.retain([Message(id="a", text="The lover is Xavier Quintrell."), Message(id="b", text="I like tea.")])
        assert (await bank.forget(messages="a")).verified
        assert another_process_finds(file) == "database is locked"
        await bank.retain(Message(id="c", text="I like coffee."))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT id FROM message ORDER BY id").fetchall() == [("b",), ("c",)]
    assert another_process_finds(file) == "delete", "nobody has the bank open any more"


def test_a_file_is_read_from_its_start_each_time(tmp_path):
    file = tmp_path / "b.bank"
    database = Database(file)
    for _ in range(2):
        with open_raw(file) as opened:
            assert opened.read(6) == b"SQLite"
    assert another_process_finds(file) == "database is locked"
    database.close()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="descriptors can be listed only on Linux")
def test_a_descriptor_is_closed_when_no_database_has_the_file_open(tmp_path):
    file = tmp_path / "b.bank"
    one, two = Database(file), Database(file)
    with open_raw(file):
        pass
    one.close()
    assert another_process_finds(file) == "database is locked"
    two.close()
    assert descriptors_of(file) == []
    with open_raw(file):
        assert len(descriptors_of(file)) == 1
    assert descriptors_of(file) == []


def test_a_database_that_cannot_be_opened_keeps_no_descriptor(tmp_path):
    file = tmp_path / "b.bank"
    file.write_text("not a database, and long enough to be read as one" * 100)
    with pytest.raises(Exception, match="not a bank"):
        Database(file)
    with open_raw(file) as opened:
        assert opened.read(3) == b"not"
    assert descriptors_of(file) == []
