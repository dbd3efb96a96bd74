"""Full disks, read-only folders, files that are no banks, damaged ones: a clear error, and nothing stored is lost."""

import os
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager, suppress

import pytest

from recollect import Memory, Message
from recollect.errors import NewerSchema, NotABank, RecollectError, StoreError, StoreUnavailable
from recollect.testing.models import HashEmbedder


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder())


async def filled(folder, count=30):
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await bank.retain([Message(text=f"note {n} of Ada in Paris", id=f"m{n}") for n in range(count)], session="s")
    return folder / "bank.bank"


@contextmanager
def tmpfs(folder, size):
    """A file system of its own; where this process may not mount one, the test says so."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def make_read_only(folder):
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)


async def retain_until_full(bank):
    kept = []
    for number in range(100_000):
        try:
            receipt = await bank.retain(Message(text=f"note {number} " + "x" * 3000), session="s")
        except StoreUnavailable as exc:
            return kept, exc
        kept += receipt.messages
    raise AssertionError("the disk never got full")


async def test_a_full_disk_says_so_and_keeps_what_was_acknowledged(tmp_path, assert_sound):
    file = await filled(tmp_path)
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        writer = bank._store._database._writer
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages + 60}")
        kept, error = await retain_until_full(bank)
        assert kept
        assert "full" in str(error)
        assert {m.id for m in await bank.messages()} == {*kept, *(f"m{n}" for n in range(30))}
        assert (await bank.recall("note")).evidence
        writer.execute(f"PRAGMA max_page_count = {pages + 6000}")
        await bank.retain(Message(text="there is room again", id="again"), session="s")
        assert (await bank.recall("room again")).evidence[0].sources == ("again",)
    assert_sound(file)


async def test_a_file_system_that_is_full_says_so_and_keeps_what_was_acknowledged(tmp_path, assert_sound):
    with tmpfs(tmp_path / "small", "2m") as folder:
        async with opened(folder) as memory:
            bank = await memory.bank("bank")
            kept, error = await retain_until_full(bank)
            assert kept
            assert "full" in str(error)
            assert {m.id for m in await bank.messages()} == set(kept)
            assert (await bank.recall("note 1")).evidence
            with pytest.raises(RecollectError):
                await bank.retain(Message(text="y" * 500_000), session="s")
        shutil.copytree(folder, tmp_path / "roomy")
    async with opened(tmp_path / "roomy") as memory:
        bank = await memory.bank("bank")
        assert {m.id for m in await bank.messages()} == set(kept)
        await bank.retain(Message(text="there is room again"), session="s")
    assert_sound(tmp_path / "roomy" / "bank.bank")


async def test_a_file_system_that_is_read_only_says_so(tmp_path):
    await filled(tmp_path / "made")
    with tmpfs(tmp_path / "mounted", "8m") as folder:
        shutil.copytree(tmp_path / "made", folder, dirs_exist_ok=True)
        make_read_only(folder)
        async with opened(folder) as memory:
            assert await memory.banks() == ("bank",)
            for name in ("bank", "new"):
                with pytest.raises(StoreUnavailable, match=str(folder)):
                    await (await memory.bank(name)).retain(Message(text="x"))
        with pytest.raises(StoreUnavailable):
            opened(folder / "below")


async def test_a_bank_that_becomes_read_only_says_so(tmp_path):
    await filled(tmp_path)
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        bank._store._database._writer.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            await bank.retain(Message(text="x"))
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            await bank.forget(session="s")
        assert len(await bank.messages()) == 30
        assert (await bank.recall("note")).evidence


@pytest.mark.parametrize("folder", ["/proc/1/recollect", "/sys/recollect", "/dev/null/x"])
def test_folders_that_cannot_be_made(folder):
    with pytest.raises(StoreError, match=folder):
        opened(folder)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("hello")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="file"):
            opened(folder)
    assert (tmp_path / "file").read_text() == "hello"


def other_database(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE message (id TEXT)")


def other_application(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA application_id = 7")


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("my diary\n" * 1000),
        lambda path: path.write_bytes(b"SQLite format 3\0" + os.urandom(5000)),
        lambda path: path.write_bytes(os.urandom(100)),
        lambda path: path.mkdir(),
        other_database,
        other_application,
    ],
    ids=["text", "header alone", "noise", "folder", "other database", "other application"],
)
async def test_files_that_are_no_banks_are_left_alone(tmp_path, make):
    file = tmp_path / "bank.bank"
    make(file)
    before = file.read_bytes() if file.is_file() else b""
    async with opened(tmp_path) as memory:
        with pytest.raises(StoreError, match=r"bank\.bank"):
            await memory.bank("bank")
        await (await memory.bank("fine")).retain(Message(text="hello"))
    assert (file.read_bytes() if file.is_file() else b"") == before


async def test_an_empty_file_becomes_a_bank(tmp_path):
    (tmp_path / "bank.bank").touch()
    async with opened(tmp_path) as memory:
        await (await memory.bank("bank")).retain(Message(text="hello"))


async def test_a_bank_of_a_later_version_is_left_alone(tmp_path):
    file = await filled(tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO migration VALUES ('9999_mind_reading')")
    before = file.read_bytes()
    async with opened(tmp_path) as memory:
        with pytest.raises(NewerSchema, match=r"9999_mind_reading.*upgrade"):
            await memory.bank("bank")
    assert file.read_bytes() == before


@pytest.mark.parametrize("left", [0.02, 0.3, 0.6, 0.95])
async def test_a_bank_that_was_cut_off(tmp_path, left):
    file = await filled(tmp_path)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(NotABank, match=r"bank\.bank"):
        await use(tmp_path)


async def use(folder):
    async with opened(folder) as memory:
        bank = await memory.bank("bank")
        await bank.messages()
        await bank.recall("note 7 of Ada", limit=50, max_tokens=None)
        await bank.retain(Message(text="one more"), session="s")
        _ = [line async for line in bank.export()]
        await bank.forget(messages="m3")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # damaged vectors are not finite
@pytest.mark.parametrize("seed", range(12))
async def test_a_bank_with_flipped_bytes_fails_clearly_or_works(tmp_path, seed):
    rng = random.Random(seed)
    file = await filled(tmp_path)
    content = bytearray(file.read_bytes())
    for _ in range(4):
        start = rng.randrange(200, len(content) - 64)
        content[start : start + 64] = rng.randbytes(64)
    file.write_bytes(content)
    with suppress(RecollectError):  # anything else is a failure
        await use(tmp_path)


@pytest.mark.parametrize("seed", range(12))
async def test_a_damaged_bank_is_never_verified_to_be_clean_while_words_are_left(tmp_path, seed):
    """Bytes are changed at random. Whatever is selected, the receipt is honest, or there is an error and no receipt."""
    file = await filled(tmp_path)
    chance = random.Random(seed)
    data = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    with suppress(RecollectError):
        async with opened(tmp_path) as memory:
            receipt = await (await memory.bank("bank")).forget(messages=[f"m{n}" for n in range(30)])
        if receipt.verified:
            assert b" of Ada in Paris" not in file.read_bytes()


async def test_a_message_that_cannot_be_read_is_forgotten_and_not_verified(tmp_path):
    file = await filled(tmp_path)
    data = file.read_bytes()
    file.write_bytes(data.replace(b"note 7 of Ada", b"note 7\xff\xfe\xc3 Ada"))
    async with opened(tmp_path) as memory:
        receipt = await (await memory.bank("bank")).forget(messages="m7")
    assert (receipt.messages, receipt.verification.value) == (("m7",), "unknown")
    assert "damaged" in receipt.reasons[0]


async def test_pages_that_were_swapped_cannot_be_verified(tmp_path):
    file = await filled(tmp_path, 200)
    with closing(sqlite3.connect(file)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'source_message'").fetchone()
    data = file.read_bytes()
    begin = (page - 1) * 4096
    file.write_bytes(data[: begin + 200] + bytes(3000) + data[begin + 3200 :])
    with suppress(RecollectError):
        async with opened(tmp_path) as memory:
            receipt = await (await memory.bank("bank")).forget(messages="never")
            assert receipt.verification.value == "unknown"
            assert "damaged" in receipt.reasons[0]
