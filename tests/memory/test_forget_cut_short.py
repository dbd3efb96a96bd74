"""Forgetting that is cut short: all of it happens or nothing, and no byte of it outlives the next look at the bank."""

import asyncio
import signal
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Memory, Message, Role
from recollect.store.sqlite import scrub as forgetting
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)
SECRET = "xylophone quagmire 4711 Zanzibar"
SAID = {"m1": "I met Ada in Paris.", "m2": "How nice.", "m3": f"The secret is {SECRET}!", "m4": "I shall guard it."}
ALL = set(SAID)


def opened(folder, graph_from=None):
    memory = Memory.open(folder, embedder=HashEmbedder())
    if graph_from is not None:
        memory._stores = SqliteFolder(folder, graph_from=graph_from)
    return memory


@pytest.fixture
async def folder(tmp_path):
    """A closed bank of two turns and the graph of its vectors."""
    async with opened(tmp_path, 1) as memory:
        bank = await memory.bank("bank")
        said = [
            Message(id=id_, text=text, role=Role.USER if id_ in ("m1", "m3") else Role.ASSISTANT, at=AT)
            for id_, text in SAID.items()
        ]
        await bank.retain(said, session="s1")
        await bank.recall("Ada")
    assert (tmp_path / "bank.hnsw").exists()
    return tmp_path


async def killed(folder, moment, *messages):
    """A process that is killed while it forgets messages."""
    script = Path(__file__).with_name("forget_and_die.py")
    child = await asyncio.create_subprocess_exec(sys.executable, script, folder, moment, *messages)
    assert await child.wait() == -signal.SIGKILL


def holding(folder, text):
    return {file.name for file in folder.iterdir() if text.encode() in file.read_bytes()}


def owed(folder):
    with closing(sqlite3.connect(folder / "bank.bank")) as connection:
        return bool(connection.execute("SELECT forgotten > scrubbed FROM state").fetchone()[0])


async def there(bank):
    found = await bank.recall("Ada Paris secret guard nice", limit=9)
    assert found.receipt.complete
    assert {m.id for m in await bank.messages()} == {id_ for e in found.evidence for id_ in e.sources}
    return {m.id for m in await bank.messages()}


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_kill_leaves_no_message_without_a_turn(folder, assert_sound, moment):
    await killed(folder, moment, "m1", "m3")
    async with opened(folder) as memory:
        assert await there(await memory.bank("bank")) == (ALL if moment == "before" else ALL - {"m1", "m3"})
    assert_sound(folder / "bank.bank", gaps=True)


@pytest.mark.parametrize("moment", ["after", "midway"])
async def test_what_a_killed_process_has_left_in_the_files_is_gone_when_the_bank_is_opened(
    folder, assert_sound, moment
):
    await killed(folder, moment, "m3")
    assert ("bank.bank" in holding(folder, SECRET)) == (moment == "after")
    assert owed(folder)
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        assert holding(folder, SECRET) == holding(folder, "Zanzibar") == set()
        assert not list(folder.glob("*.hnsw*"))
        assert await there(bank) == ALL - {"m3"}
    assert not owed(folder)
    assert_sound(folder / "bank.bank", gaps=True)


async def test_whoever_has_the_bank_open_cleans_up_when_it_forgets_next(folder):
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await killed(folder, "after", "m3")
        assert "bank.bank" in holding(folder, SECRET)
        receipt = await bank.forget(messages="unknown")
        assert (receipt.messages, receipt.verified) == ((), True)
        assert holding(folder, SECRET) == set()
        assert not owed(folder)


async def test_what_cannot_be_cleaned_up_now_keeps_nobody_from_opening_and_is_done_later(folder):
    with closing(sqlite3.connect(folder / "bank.bank", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM message").fetchone()
        await killed(folder, "after", "m3")
        async with opened(folder) as memory:
            assert await there(await memory.bank("bank")) == ALL - {"m3"}
        assert owed(folder)
        assert holding(folder, SECRET)
    async with opened(folder) as memory:
        await memory.bank("bank")
    assert holding(folder, SECRET) == set()
    assert not owed(folder)


async def test_a_file_that_there_was_no_room_to_write_anew_is_owed_still(folder, monkeypatch):
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        with monkeypatch.context() as patched:
            patched.setattr(forgetting, "_vacuum", lambda connection: False)
            await bank.forget(messages="m1")
            assert owed(folder)
        await bank.forget(messages="unknown")
        assert not owed(folder)


async def test_a_receipt_that_is_not_clean_is_owed_and_a_clean_one_is_not(folder):
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        with closing(sqlite3.connect(folder / "bank.bank", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM message").fetchone()
            assert not (await bank.forget(messages="m1")).verified
            assert owed(folder)
        assert (await bank.forget(messages="m2")).verified
        assert not owed(folder)
