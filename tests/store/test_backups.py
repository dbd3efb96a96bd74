"""A backup is a whole bank of one moment, whoever writes meanwhile. It replaces no file, and never half appears."""

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from recollect import Memory, Message
from recollect.domain.changes import Changeset
from recollect.errors import BankExists, BankNotFound, InvalidInput, MissingCapability, NotABank, StoreUnavailable
from recollect.store.sqlite import backup as backup_module
from recollect.store.sqlite.staging import STAGING
from recollect.testing.models import HashEmbedder


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder(), model="none")


def said(*numbers):
    return [Message(id=f"m{n}", text=f"note n{n}: Ada met Bram in Leeds.") for n in numbers]


async def lines_of(bank):
    return [line async for line in bank.export()]


def left_in(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith(".recollect."))


async def test_a_backup_is_restored_as_the_same_bank(tmp_path, assert_sound):
    file = tmp_path / "ada.backup"
    async with opened(tmp_path / "one") as memory, opened(tmp_path / "two") as other:
        bank = await memory.bank("ada")
        await bank.retain(said(*range(40)), session="s")
        await bank.forget(messages="m7")
        receipt = await memory.backup("ada", file)
        assert (receipt.bank, receipt.file, receipt.messages, receipt.items) == ("ada", str(file), 39, 39)
        assert receipt.size_bytes == file.stat().st_size
        assert left_in(tmp_path) == ["ada.backup", "one", "two"]
        assert (await other.restore(file)).name == "ada"
        assert (await other.restore(str(file), "copy")).messages == 39
        lines = await lines_of(bank)
        for name in ("ada", "copy"):
            restored = await other.bank(name)
            assert (await lines_of(restored))[1:] == lines[1:]
            assert (await restored.recall("n8")).evidence[0].sources == ("m8",)
            await restored.retain(said(100), session="s")
    assert left_in(tmp_path) == ["ada.backup", "one", "two"]
    assert sorted(name for name in left_in(tmp_path / "two") if "." not in name.removesuffix(".bank")) == [
        "ada.bank",
        "copy.bank",
    ]
    assert_sound(tmp_path / "two" / "copy.bank", gaps=True)


async def test_a_backup_holds_one_moment_while_others_write(tmp_path, monkeypatch):
    """Others write between two steps of the copy: what the file holds is what was there when it began."""
    monkeypatch.setattr(backup_module, "_PAGES", 8)
    loop = asyncio.get_running_loop()
    async with opened(tmp_path / "banks") as memory, opened(tmp_path / "banks") as other:
        bank, writer = await memory.bank("ada"), await other.bank("ada")
        await bank.retain(said(*range(300)), session="s")
        steps = 0

        async def write():
            nonlocal steps
            steps += 1
            await writer.retain(said(1_000 + steps), session="t")

        def find_damage_after_writing(connection):
            asyncio.run_coroutine_threadsafe(write(), loop).result(30)
            return find_damage(connection)

        find_damage = backup_module.find_damage
        monkeypatch.setattr(backup_module, "find_damage", find_damage_after_writing)
        writing = asyncio.create_task(write())
        receipts = [await memory.backup("ada", tmp_path / f"{n}.backup") for n in range(3)]
        await writing
        assert steps == 4
        assert [receipt.messages for receipt in receipts] == sorted(receipt.messages for receipt in receipts)
        for number, receipt in enumerate(receipts):
            info = await memory.restore(receipt.file, f"copy{number}")
            assert (info.messages, info.items) == (receipt.messages, receipt.items)
            assert receipt.messages >= 300 + number


async def test_a_file_or_a_bank_that_exists_is_not_replaced(tmp_path, monkeypatch):
    file = tmp_path / "ada.backup"
    async with opened(tmp_path / "banks") as memory:
        await (await memory.bank("ada")).retain(said(1), session="s")
        await memory.backup("ada", file)
        before = file.read_bytes()
        with pytest.raises(BankExists, match=r"ada\.backup exists"):
            await memory.backup("ada", file)
        with pytest.raises(BankExists, match="there is a bank 'ada'"):
            await memory.restore(file)
        late = tmp_path / "late"
        real = backup_module.find_damage
        monkeypatch.setattr(backup_module, "find_damage", lambda copy: late.write_text("mine") and real(copy))
        with pytest.raises(BankExists, match="late exists"):
            await memory.backup("ada", late)
        assert (file.read_bytes(), late.read_text()) == (before, "mine")
        assert left_in(tmp_path) == ["ada.backup", "banks", "late"]


async def test_a_backup_that_fails_leaves_nothing(tmp_path):
    async with opened(tmp_path / "banks") as memory:
        with pytest.raises(BankNotFound):
            await memory.backup("nobody", tmp_path / "file")
        await (await memory.bank("ada")).retain(said(*range(200)), session="s")
        with pytest.raises(StoreUnavailable, match="no/file"):
            await memory.backup("ada", tmp_path / "no" / "file")
    file = tmp_path / "banks" / "ada.bank"
    with closing(sqlite3.connect(file)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message_session'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with file.open("r+b") as out:
        out.seek((root - 1) * size + 200)
        out.write(b"\xff" * 400)
    async with opened(tmp_path / "banks") as memory:
        with pytest.raises(NotABank, match="'ada' is damaged, so no backup was made"):
            await memory.backup("ada", tmp_path / "file")
    assert left_in(tmp_path) == ["banks"]


async def test_what_is_no_backup_is_not_restored(tmp_path):
    text, other, damaged = tmp_path / "text", tmp_path / "other", tmp_path / "damaged"
    text.write_text("this is no bank, and it is long enough to be read as a header\n" * 40)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (words TEXT)")
    async with opened(tmp_path / "banks") as memory:
        await (await memory.bank("ada")).retain(said(*range(200)), session="s")
        await memory.backup("ada", damaged)
        with damaged.open("r+b") as out:
            out.truncate(damaged.stat().st_size // 2)
        for file, error in ((text, NotABank), (other, NotABank), (damaged, NotABank), (tmp_path / "no", InvalidInput)):
            with pytest.raises(error, match=file.name):
                await memory.restore(file, "new")
            assert await memory.banks() == ("ada",)
        assert not (tmp_path / "banks" / STAGING).exists()
        with pytest.raises(MissingCapability):
            async with opened(":memory:") as nowhere:
                await nowhere.restore(damaged, "new")


async def test_a_backup_can_be_read_from_a_read_only_folder_and_copied_by_hand(tmp_path):
    folder = tmp_path / "media"
    folder.mkdir()
    async with opened(tmp_path / "banks") as memory:
        await (await memory.bank("ada")).retain(said(1), session="s")
        await memory.backup("ada", folder / "ada.backup")
        await memory.restore(folder / "ada.backup", "restored")
        assert left_in(folder) == ["ada.backup"]
        shutil.copy(folder / "ada.backup", tmp_path / "banks" / "copied.bank")
        copied = await memory.bank("copied")
        await copied.retain(said(2), session="s")
        assert (tmp_path / "banks" / "copied.bank-wal").exists()  # readers do not wait for writers
        assert [message.id for message in await copied.messages()] == ["m1", "m2"]


async def test_a_bank_in_memory_is_saved(tmp_path):
    async with opened(":memory:") as memory, opened(tmp_path / "banks") as other:
        await (await memory.bank("ada")).retain(said(1), session="s")
        await memory.backup("ada", tmp_path / "ada.backup")
        assert (await other.restore(tmp_path / "ada.backup")).messages == 1


async def test_what_a_killed_backup_left_goes_with_the_next(tmp_path):
    part = tmp_path / f".ada.backup.{'0' * 32}.part"
    part.write_bytes(b"half")
    busy = tmp_path / f".ada.backup.{'1' * 32}.part"
    async with opened(tmp_path / "banks") as memory:
        await (await memory.bank("ada")).retain(said(1), session="s")
        with closing(sqlite3.connect(busy, isolation_level=None)) as living:
            living.execute("PRAGMA locking_mode = EXCLUSIVE")
            living.execute("BEGIN EXCLUSIVE")
            await memory.backup("ada", tmp_path / "ada.backup")
            assert busy.exists()
        assert not part.exists()


async def test_settings_and_jobs_come_along(tmp_path):
    async with opened(tmp_path / "banks") as memory:
        bank = await memory.bank("ada")
        await bank._store.commit(Changeset(settings=(("tone", "warm"),)))
        await memory.backup("ada", tmp_path / "ada.backup")
        await memory.restore(tmp_path / "ada.backup", "copy")
        assert await (await memory.bank("copy"))._store.setting("tone") == "warm"
