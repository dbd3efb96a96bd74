"""A bank whose log was removed, or that was copied without it, says so; a kill or a power cut is no false alarm."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Memory, Message
from recollect.errors import StoreUnavailable
from recollect.store.sqlite import write_marks
from recollect.testing.models import HashEmbedder

MISSING = "5 acknowledged writes are missing"
COPIED = "the newest writes may be missing"


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder(), model="none")


def said(number):
    return Message(id=f"m{number}", text=f"note n{number}: Ada met Bram in Leeds.")


async def retain(bank, *numbers):
    for number in numbers:
        await bank.retain(said(number), session="s")


async def losses_of(folder, name="bank"):
    """What the bank says is missing: in its receipts, and among its numbers."""
    async with opened(folder) as memory:
        bank = await memory.bank(name, create=False)
        found = await bank.recall("Ada")
        notes = (await bank.info()).notes
    assert found.receipt.complete is not bool(found.receipt.losses)
    assert set(found.receipt.losses) <= set(notes)
    return found.receipt.losses


def kill_a_writer(folder, writes=5):
    """Start a process that writes, and kill it after some acknowledged writes."""
    script = Path(__file__).with_name("writing.py")
    with subprocess.Popen([sys.executable, script, folder, str(writes)], stdout=subprocess.PIPE, text=True) as process:
        for number in range(writes):
            assert process.stdout.readline() == f"{number}\n"
        process.send_signal(signal.SIGKILL)


@pytest.fixture
async def folder(tmp_path):
    """A closed bank with three messages."""
    async with opened(tmp_path) as memory:
        await retain(await memory.bank("bank"), "a", "b", "c")
    return tmp_path


async def test_a_removed_log_is_noticed_and_told_until_it_is_accepted(folder, caplog):
    kill_a_writer(folder)
    (folder / "bank.bank-wal").unlink()
    (loss,) = await losses_of(folder)
    # The first write after opening is in the file, so that the file shows that it is in use.
    assert loss.startswith("4 acknowledged writes are missing: the log of the bank was removed")
    assert loss in caplog.text
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await retain(bank, "later")  # it can be used on
        assert (await bank.recall("later")).receipt.losses == (loss,)
    assert await losses_of(folder) == (loss,)
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await bank.accept_losses()
        assert (await bank.recall("later")).receipt.complete
    assert await losses_of(folder) == ()


async def test_a_kill_is_no_loss_even_if_another_program_folds_the_log(folder):
    kill_a_writer(folder)
    assert await losses_of(folder) == ()
    kill_a_writer(folder)
    with closing(sqlite3.connect(folder / "bank.bank")) as other:  # it removes the log when it is closed
        assert other.execute("SELECT count(*) FROM message").fetchone()[0] == 13
    assert not (folder / "bank.bank-wal").exists()
    assert await losses_of(folder) == ()


@pytest.mark.parametrize("state", ["open", "killed"])
async def test_a_file_that_is_copied_without_its_log_says_so(folder, tmp_path, state):
    copies = tmp_path / "copies"
    copies.mkdir()
    if state == "killed":
        kill_a_writer(folder)
        shutil.copy(folder / "bank.bank", copies)
    else:
        async with opened(folder) as memory:
            await retain(await memory.bank("bank"), *range(20))
            shutil.copy(folder / "bank.bank", copies)
    for _ in range(2):
        (loss,) = await losses_of(copies)
        assert loss.startswith(COPIED)
    assert await losses_of(folder) == ()


async def test_a_new_bank_that_is_copied_while_it_is_open_says_so(tmp_path):
    (tmp_path / "copies").mkdir()
    async with opened(tmp_path) as memory:
        await retain(await memory.bank("bank"), 1)
        shutil.copy(tmp_path / "bank.bank", tmp_path / "copies")
    assert (await losses_of(tmp_path / "copies"))[0].startswith(COPIED)


@pytest.mark.parametrize("how", ["closed", "after a kill", "with its log", "backup"])
async def test_a_whole_copy_says_nothing(folder, tmp_path, how):
    copies = tmp_path / "copies"
    copies.mkdir()
    if how != "closed":
        kill_a_writer(folder)
    if how == "after a kill":
        assert await losses_of(folder) == ()  # opened only to read, and closed
    if how == "with its log":
        shutil.copy(folder / "bank.bank-wal", copies)
    if how == "backup":
        async with opened(folder) as memory:
            bank = await memory.bank("bank")
            await retain(bank, 100)
            await memory.backup("bank", tmp_path / "file")
            await memory.restore(tmp_path / "file", "restored")
        assert await losses_of(folder, "restored") == ()
        shutil.copy(tmp_path / "file", copies / "bank.bank")
    else:
        shutil.copy(folder / "bank.bank", copies)
    assert await losses_of(copies) == ()
    async with opened(copies) as memory:
        assert len(await (await memory.bank("bank")).messages()) == {"closed": 3, "backup": 9}.get(how, 8)


async def test_a_file_that_is_replaced_by_an_older_one_says_so(folder):
    older = (folder / "bank.bank").read_bytes()
    async with opened(folder) as memory:
        await retain(await memory.bank("bank"), *range(5))
    (folder / "bank.bank").write_bytes(older)
    assert (await losses_of(folder))[0].startswith(MISSING)


async def test_the_mark_of_another_bank_does_not_count(folder):
    async with opened(folder) as memory:
        await retain(await memory.bank("other"), *range(9))
    shutil.copy(folder / "other.bank-ack", folder / "bank.bank-ack")
    assert await losses_of(folder) == ()


@pytest.mark.parametrize("contents", ["", "half", "x y\n", None])
async def test_a_mark_that_was_not_written_before_a_power_cut_is_no_loss(folder, contents):
    """After a power cut, the file beside the bank may be empty, older, or not there."""
    older = (folder / "bank.bank-ack").read_bytes()
    kill_a_writer(folder)
    mark = folder / "bank.bank-ack"
    mark.write_bytes(older) if contents is None else mark.write_text(contents)
    assert await losses_of(folder) == ()
    kill_a_writer(folder)
    mark.write_text(contents or "")
    with closing(sqlite3.connect(folder / "bank.bank")) as other:
        other.execute("SELECT count(*) FROM message").fetchone()
    assert await losses_of(folder) == ()
    assert mark.read_text().split()[1].lstrip("0") == str(3 + 2 * 5)


async def test_others_that_close_the_bank_do_not_hide_that_it_is_in_use(folder, tmp_path):
    copies = tmp_path / "copies"
    copies.mkdir()
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await retain(bank, 1)
        async with opened(folder) as other:
            await retain(await other.bank("bank"), 2)
        await retain(bank, 3)
        shutil.copy(folder / "bank.bank", copies)
    assert (await losses_of(copies))[0].startswith(COPIED)


async def test_a_reader_delays_the_mark_and_no_write_waits_for_it(folder, tmp_path):
    copies = tmp_path / "copies"
    copies.mkdir()
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        with closing(sqlite3.connect(folder / "bank.bank", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM message").fetchone()
            await retain(bank, 1)
        await retain(bank, 2)
        shutil.copy(folder / "bank.bank", copies)
    assert (await losses_of(copies))[0].startswith(COPIED)


async def test_a_log_that_is_removed_under_a_writer_is_told_and_closing_saves_what_was_written(folder):
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await retain(bank, *range(5))
        os.unlink(folder / "bank.bank-wal")
        with pytest.raises(StoreUnavailable, match="was removed while the bank was in use"):
            await retain(bank, "late")
    assert await losses_of(folder) == ()
    async with opened(folder) as memory:
        assert {m.id for m in await (await memory.bank("bank")).messages()} >= {f"m{n}" for n in range(5)}


async def test_a_dropped_bank_leaves_no_mark_and_lists_show_none(folder):
    async with opened(folder) as memory:
        assert await memory.banks() == ("bank",)
        await memory.drop("bank")
        assert [file for file in os.listdir(folder) if file.startswith("bank")] == []
        await retain(await memory.bank("bank"), 1)
    assert await losses_of(folder) == ()


async def test_a_mark_is_written_for_each_write_and_does_not_wait_for_the_disk(folder, monkeypatch):
    waits = []
    monkeypatch.setattr(os, "fsync", waits.append)
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await asyncio.gather(*(retain(bank, number) for number in range(8)))
        marks = bank._store._database.marks
        assert write_marks.Acknowledged(marks._id, await bank._store.version()) == marks._read()
    assert waits == []
