"""The turns of the processes that write a bank: in the order of asking, and never held by the dead."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from recollect import Memory, Message
from recollect.store.sqlite import turns
from recollect.store.sqlite.turns import TURNS_FILE, hold_turn
from recollect.testing.models import HashEmbedder

pytestmark = pytest.mark.skipif(turns.fcntl is None, reason="the system has no such locks")


@asynccontextmanager
async def other_process(bank):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        Path(__file__).with_name("line_up.py"),
        str(bank),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def first_in_line(bank):
    """Wait until somebody is at the head of the line."""
    file = turns.find_lock_file(bank.parent.absolute() / TURNS_FILE, os.getpid())
    head, _ = turns._find_places(bank.name)
    while file.try_lock(head):
        file.unlock(head)
        await asyncio.sleep(0.01)


async def test_a_process_that_asks_again_lines_up_behind_the_one_that_waits(tmp_path):
    bank, order = tmp_path / "ada.bank", []
    async with hold_turn(bank):
        waiting = other_process(bank)
        process = await waiting.__aenter__()
        await first_in_line(bank)

    async def again():
        async with hold_turn(bank):
            order.append("again")

    asking = asyncio.create_task(again())
    assert await process.stdout.readline() == b"has the turn\n"
    order.append("other")
    for _ in range(5):
        await asyncio.sleep(0.01)
    assert order == ["other"]
    process.stdin.write(b"\n")
    await asking
    assert order == ["other", "again"]
    assert (tmp_path / TURNS_FILE).stat().st_size == 0
    await waiting.__aexit__(None, None, None)


async def test_the_turn_ends_with_its_process(tmp_path):
    bank = tmp_path / "ada.bank"
    async with other_process(bank) as process:
        assert await process.stdout.readline() == b"has the turn\n"
        process.kill()
        async with hold_turn(bank):
            pass


async def test_a_writer_that_gives_up_does_not_stay_in_line(tmp_path):
    bank = tmp_path / "ada.bank"

    async def ask():
        async with hold_turn(bank):
            raise AssertionError("it is not free")

    async with hold_turn(bank):
        asking = asyncio.create_task(ask())
        await first_in_line(bank)
        asking.cancel()
        await asyncio.wait([asking])
    async with hold_turn(bank):
        pass


async def test_a_process_that_is_stopped_in_its_turn_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT_S", 0.05)
    async with other_process(tmp_path / "ada.bank") as process:
        assert await process.stdout.readline() == b"has the turn\n"
        async with Memory.open(tmp_path, embedder=HashEmbedder(), model="none") as memory:
            bank = await memory.bank("ada")
            await bank.retain(Message(text="Ada has a dog."))
            assert len(await bank.messages()) == 1


async def test_two_memories_of_one_process_take_turns_too(tmp_path):
    bank, order = tmp_path / "ada.bank", []

    async def write(name):
        async with hold_turn(bank):
            order.append(name)
            await asyncio.sleep(0.01)
            order.append(name)

    await asyncio.gather(write("a"), write("b"))
    assert order[0] == order[1]
    assert order[2] == order[3]


async def test_banks_do_not_wait_for_each_other(tmp_path):
    async with hold_turn(tmp_path / "ada.bank"), hold_turn(tmp_path / "bram.bank"):
        pass


async def test_a_folder_without_locks_is_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no locks here")

    monkeypatch.setattr(turns.fcntl, "lockf", refuse)
    async with Memory.open(tmp_path, embedder=HashEmbedder(), model="none") as memory:
        bank = await memory.bank("ada")
        await bank.retain(Message(text="Ada has a dog."))
        assert len(await bank.messages()) == 1
