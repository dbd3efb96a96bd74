"""An import makes a whole bank or none: when it is killed, when it fails, and when others write the same bank."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Memory, Message
from recollect.errors import BankExists, BankNotFound, InvalidInput, MalformedLine
from recollect.store.sqlite.staging import STAGING, StagingFolder
from recollect.testing.models import HashEmbedder

MESSAGES = 600
KILLS = 5


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder(), model="none")


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """An export of a bank with 600 messages, as a file."""
    folder = tmp_path_factory.mktemp("export")

    async def write():
        async with opened(folder / "banks") as memory:
            bank = await memory.bank("bank")
            said = [Message(id=f"m{n}", text=f"note n{n}: Ada met Bram in Leeds.") for n in range(MESSAGES)]
            await bank.retain(said, session="s")
            lines = [line async for line in bank.export()]
        (folder / "bank.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")

    asyncio.run(write())
    return folder / "bank.jsonl"


def lines_of(export):
    return export.read_text("utf-8").splitlines(keepends=True)


def start(folder, export, *pause):
    return subprocess.Popen(
        [sys.executable, Path(__file__).with_name("importing.py"), folder, "bank", export, *pause],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_in(folder):
    return [name for name in os.listdir(folder) if not name.startswith(".recollect.")]


async def test_a_killed_import_leaves_no_bank_and_its_files_go(tmp_path, export):
    with start(tmp_path, export, "pause") as process:
        assert process.stdout.readline() == "half\n"
        async with opened(tmp_path) as memory:  # nobody takes the unfinished bank of a living process away
            assert await memory.banks() == ()
            await memory.bank("other")
            assert (tmp_path / STAGING).exists()
        process.kill()
    async with opened(tmp_path) as memory:
        assert await memory.banks() == ("other",)
        with pytest.raises(BankNotFound):
            await memory.bank("bank", create=False)
        assert not (tmp_path / STAGING).exists()
        assert (await memory.import_bank("bank", lines_of(export))).messages == MESSAGES
        assert (await (await memory.bank("bank")).recall("n77")).evidence[0].sources == ("m77",)


@pytest.mark.timeout(120)
async def test_an_import_that_is_killed_at_any_moment_is_whole_or_nothing(tmp_path, export, assert_sound):
    rng, ends = random.Random(20240501), []
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        with start(folder, export) as process:
            assert process.stdout.readline() == "half\n"
            await asyncio.sleep(rng.uniform(0, 0.4))
            process.send_signal(signal.SIGKILL)
        async with opened(folder) as memory:
            names = await memory.banks()
            ends.append(len(names))
            if names:
                info = await memory.info("bank")
                assert (info.messages, info.items) == (MESSAGES, MESSAGES)
            else:
                assert (await memory.import_bank("bank", lines_of(export))).messages == MESSAGES
        assert_sound(folder / "bank.bank")
        assert sorted(left_in(folder)) == ["bank.bank", "bank.bank-ack"]
        assert not (folder / STAGING).exists()


async def test_of_two_imports_at_once_one_wins_and_the_other_says_so(tmp_path, export):
    processes = [start(tmp_path, export, "pause") for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "half\n"
    ends = [process.communicate("\n") for process in processes]
    assert sorted(process.returncode for process in processes) == [0, 1]
    for process, (out, err) in zip(processes, ends, strict=True):
        assert out == f"imported {MESSAGES}\n" if process.returncode == 0 else "BankExists" in err
    async with opened(tmp_path) as memory:
        assert (await memory.info("bank")).messages == MESSAGES


@pytest.mark.parametrize("empty", [False, True])
async def test_what_others_retain_during_an_import_stays(tmp_path, export, empty):
    lines = lines_of(export)
    async with opened(tmp_path) as memory, opened(tmp_path) as other:
        if empty:
            await memory.bank("bank")

        async def retain():
            bank = await other.bank("bank")
            await bank.retain(Message(id="mine", text="I adopted Toby from the shelter."), session="s")

        loop = asyncio.get_running_loop()

        def slowly():
            for number, line in enumerate(lines):
                if number == len(lines) // 2:
                    asyncio.run_coroutine_threadsafe(retain(), loop).result(30)
                yield line

        with pytest.raises(InvalidInput, match="not empty" if empty else "not replaced") as caught:
            await memory.import_bank("bank", slowly())
        assert isinstance(caught.value, BankExists) is not empty
        bank = await memory.bank("bank")
        assert [message.id for message in await bank.messages()] == ["mine"]
        assert (await bank.recall("Who adopted Toby?")).evidence[0].sources == ("mine",)
        assert not (tmp_path / STAGING).exists()


@pytest.mark.parametrize("folder", ["banks", ":memory:"])
@pytest.mark.parametrize("empty", [False, True])
async def test_a_failed_import_changes_nothing(tmp_path, export, folder, empty):
    place = folder if folder == ":memory:" else tmp_path / folder
    async with opened(place) as memory:
        if empty:
            await memory.bank("bank")
        with pytest.raises(MalformedLine, match=f"line {2 * MESSAGES}"):
            await memory.import_bank("bank", [*lines_of(export)[: 2 * MESSAGES - 1], "{\n"])
        assert await memory.banks() == (("bank",) if empty else ())
        info = await memory.import_bank("bank", lines_of(export))
        assert (info.messages, info.items) == (MESSAGES, MESSAGES)
        with pytest.raises(InvalidInput, match="not empty"):
            await memory.import_bank("bank", lines_of(export))


async def test_an_export_whose_items_come_twice_is_refused(tmp_path, export):
    lines = lines_of(export)
    async with opened(tmp_path) as memory:
        with pytest.raises(Exception, match="were stored"):
            await memory.import_bank("bank", [*lines, next(line for line in lines if '"type": "item"' in line)])
        assert await memory.banks() == ()


async def test_an_imported_bank_is_on_the_disk_before_it_has_its_name(tmp_path, export, monkeypatch):
    done = []
    sync, link = os.fsync, os.link

    def note_sync(descriptor):
        done.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def note_link(source, target):
        done.append("named")
        link(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "link", note_link)
    async with opened(tmp_path) as memory:
        await memory.import_bank("bank", lines_of(export))
    assert done == [(tmp_path / "bank.bank").stat().st_ino, "named", tmp_path.stat().st_ino]


async def test_an_orphaned_log_is_not_taken_for_that_of_an_imported_bank(tmp_path, export):
    async with opened(tmp_path) as memory:
        await (await memory.bank("bank")).retain(Message(id="old", text="Old words."), session="s")
        log = (tmp_path / "bank.bank-wal").read_bytes()
    (tmp_path / "bank.bank").unlink()
    (tmp_path / "bank.bank-wal").write_bytes(log)
    async with opened(tmp_path) as memory:
        await memory.import_bank("bank", lines_of(export))
        assert (await memory.info("bank")).messages == MESSAGES


def test_a_staging_folder_lives_as_long_as_it_is_used(tmp_path):
    one = StagingFolder(tmp_path)
    (one.path / "bank").write_text("unfinished")
    other = StagingFolder(tmp_path)
    assert (one.path / "bank").exists()
    one.close()
    assert other.path.exists()
    assert not one.path.exists()
    other.close()
    assert left_in(tmp_path) == []
