"""A bank is dropped while others have it open: they notice, and nothing is acknowledged into a file without a name."""

import asyncio
import os
import subprocess
import sys

import pytest

from recollect import Memory, Message
from recollect.errors import BankNotFound, NotABank, RecollectError, StoreUnavailable
from recollect.store.index.vectors import is_graph_library_installed
from recollect.store.sqlite import erase
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder


def opened(folder, **more):
    return Memory.open(folder, embedder=HashEmbedder(), **more)


async def filled(memory, name="ada", count=3):
    bank = await memory.bank(name)
    await bank.retain([Message(text=f"note {n} of Toby", id=f"m{n}") for n in range(count)], session="s")
    return bank


async def ids_of(folder, name="ada"):
    async with opened(folder) as memory:
        return [message.id for message in await (await memory.bank(name, create=False)).messages()]


CALLS = {
    "retain": lambda bank: bank.retain(Message(text="lost"), session="s"),
    "messages": lambda bank: bank.messages(),
    "recall": lambda bank: bank.recall("Toby"),
    "forget": lambda bank: bank.forget(session="s"),
    "info": lambda bank: bank.info(),
    "jobs": lambda bank: bank.jobs(),
    "rebuild": lambda bank: bank.rebuild(),
    "export": lambda bank: _all(bank.export()),
}


async def _all(lines):
    return [line async for line in lines]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("call", CALLS)
async def test_who_has_a_dropped_bank_open_is_told_at_the_next_call(tmp_path, call, released, again, assert_sound):
    async with opened(tmp_path) as here, opened(tmp_path) as other:
        bank = await filled(here)
        if released:
            await bank.close()
        await other.drop("ada")
        if again:
            await (await other.bank("ada")).retain(Message(text="new", id="new"), session="s")
        for _ in range(2):
            with pytest.raises(BankNotFound, match="another process"):
                await CALLS[call](bank)
        assert await other.banks() == (("ada",) if again else ())
        fresh = await here.bank("ada")
        assert [message.id for message in await fresh.messages()] == (["new"] if again else [])
        await fresh.retain(Message(text="and more", id="more"), session="s")
        with pytest.raises(BankNotFound):
            await CALLS[call](bank)
    assert (await ids_of(tmp_path))[-1] == "more"
    assert_sound(tmp_path / "ada.bank")


@pytest.mark.parametrize("again", [False, True])
async def test_a_write_during_which_the_bank_is_dropped_is_not_acknowledged(tmp_path, monkeypatch, again):
    """The drop comes after every check, right before the commit."""
    async with opened(tmp_path) as here, opened(tmp_path) as other:
        bank = await filled(here)
        commit = bank._store._commit

        def commit_and_drop(connection, changes):
            commit(connection, changes)
            asyncio.run_coroutine_threadsafe(other.drop("ada"), loop).result()
            if again:
                asyncio.run_coroutine_threadsafe(other.bank("ada"), loop).result()

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(bank._store, "_commit", commit_and_drop)
        with pytest.raises(BankNotFound):
            await bank.retain(Message(text="lost", id="lost"), session="s")
    if again:
        assert await ids_of(tmp_path) == []


async def test_a_bank_that_was_replaced_by_hand_is_noticed(tmp_path):
    async with opened(tmp_path / "a") as memory:
        bank = await filled(memory)
        async with opened(tmp_path / "b") as other:
            await filled(other, count=1)
        os.replace(tmp_path / "b" / "ada.bank", tmp_path / "a" / "ada.bank")
        with pytest.raises(BankNotFound):
            await bank.retain(Message(text="lost"), session="s")


async def test_a_log_that_was_removed_by_hand_is_noticed(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await filled(memory)
        (tmp_path / "ada.bank-wal").unlink()
        with pytest.raises(StoreUnavailable, match="wal was removed"):
            await bank.retain(Message(text="lost"), session="s")
        again = await memory.bank("ada")
        await again.retain(Message(text="kept", id="kept"), session="s")
    assert "kept" in await ids_of(tmp_path)


async def test_background_work_of_a_dropped_bank_ends(tmp_path):
    from recollect.testing.models import FunctionModel

    def answer(prompt, answer_type):
        raise RecollectError("never asked")

    async with opened(tmp_path, recipe="hindsight", model=FunctionModel(answer)) as here, opened(tmp_path) as other:
        bank = await filled(here)
        await other.drop("ada")
        (problem,) = await bank.run_jobs()
        assert "another process" in problem
        assert await here.banks_with_jobs() == ()


async def test_a_process_that_closes_a_dropped_bank_does_not_touch_the_new_one(tmp_path, assert_sound):
    here, other = opened(tmp_path), opened(tmp_path)
    bank = await filled(here)
    await other.drop("ada")
    fresh = await other.bank("ada")
    await fresh.retain(Message(text="new", id="new1"), session="s")
    await here.close()
    assert bank is not None
    await fresh.retain(Message(text="new", id="new2"), session="s")
    await other.close()
    assert await ids_of(tmp_path) == ["new1", "new2"]
    assert_sound(tmp_path / "ada.bank")


async def test_opening_does_not_bring_back_a_bank_that_is_dropped_meanwhile(tmp_path):
    async with opened(tmp_path) as memory:
        await filled(memory)
    (tmp_path / "ada.bank").unlink()
    with pytest.raises(BankNotFound):
        Database(tmp_path / "ada.bank", create=False)
    assert not (tmp_path / "ada.bank").exists()


# Left-over files


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.parametrize("what", ["drop", "create"])
async def test_a_drop_that_was_cut_short_is_finished_by_the_next_process(tmp_path, monkeypatch, what):
    async with opened(tmp_path) as memory:
        await filled(memory)
        (tmp_path / "ada.hnsw").write_bytes(b"a graph of Toby")
        with monkeypatch.context() as patched:
            patched.setattr(erase, "remove_derived", lambda bank: (_ for _ in ()).throw(OSError("killed")))
            with pytest.raises(StoreUnavailable):
                await memory.drop("ada")
    left = {file.name for file in tmp_path.iterdir()}
    assert "ada.bank" not in left
    assert any(".~" in name for name in left)
    async with opened(tmp_path) as memory:
        assert await memory.banks() == ()
        if what == "create":
            assert await (await memory.bank("ada")).messages() == []
        else:
            await memory.bank("other")
    assert not [file.name for file in tmp_path.iterdir() if "erased" in file.name or "hnsw" in file.name]


@pytest.mark.skipif(not is_graph_library_installed(), reason="the extra hnsw is not installed")
async def test_a_graph_that_was_being_written_goes_with_what_is_forgotten_or_dropped(tmp_path, dead):
    async with opened(tmp_path) as memory:
        bank = await filled(memory)
        for process in (dead, os.getpid()):
            (tmp_path / f"ada.hnsw.{process}").write_bytes(b"half a graph")
        await bank.forget(messages="m0")
        assert not list(tmp_path.glob("ada.hnsw*"))
        for process in (dead, os.getpid()):
            (tmp_path / f"ada.hnsw.{process}").write_bytes(b"half a graph")
        await memory.drop("ada")
    assert not [file.name for file in tmp_path.iterdir() if not file.name.startswith(".recollect.")]


async def test_the_next_process_removes_a_killed_ones_graph_and_no_other(tmp_path, dead):
    theirs, living = tmp_path / f"ada.hnsw.{dead}", tmp_path / f"ada.hnsw.{os.getpid()}"
    strange = tmp_path / "notes.hnsw.txt"
    for file in (theirs, living, strange):
        file.write_bytes(b"half a graph")
    async with opened(tmp_path) as memory:
        await filled(memory, "bram")
    assert not theirs.exists()
    assert living.exists()
    assert strange.exists()


# Links


@pytest.fixture
async def linked(tmp_path):
    """A store with a bank that is a link to a bank in another store."""
    (tmp_path / "links").mkdir()
    async with opened(tmp_path / "real") as memory:
        await filled(memory)
    (tmp_path / "links" / "ada.bank").symlink_to(tmp_path / "real" / "ada.bank")
    return tmp_path / "links"


async def test_a_linked_bank_is_erased_where_it_is(linked, tmp_path):
    async with opened(linked) as memory, opened(tmp_path / "real") as other:
        there = await other.bank("ada")
        assert len(await (await memory.bank("ada")).messages()) == 3
        await memory.drop("ada")
        with pytest.raises(BankNotFound):
            await there.retain(Message(text="lost"), session="s")
    for folder in (linked, tmp_path / "real"):
        assert not [file.name for file in folder.iterdir() if not file.name.startswith(".recollect.")]


async def test_what_is_forgotten_of_a_linked_bank_is_looked_for_where_it_is(linked, tmp_path):
    real = tmp_path / "real"
    async with opened(linked) as memory:
        bank = await memory.bank("ada")
        await bank.retain(Message(text="the secret word is xylophone", id="x"), session="s")
        assert (real / "ada.bank-wal").stat().st_size
        receipt = await bank.forget(messages="x")
        assert receipt.verified
        assert not [file.name for file in real.iterdir() if b"xylophone" in file.read_bytes()]
    assert [file.name for file in linked.iterdir() if not file.name.startswith(".recollect.")] == ["ada.bank"]


@pytest.mark.parametrize("target", ["text", "empty", "folder"])
async def test_a_link_to_something_else_is_refused_and_erases_nothing(tmp_path, target):
    file = tmp_path / "something"
    if target == "folder":
        file.mkdir()
    else:
        file.write_text("hello" if target == "text" else "")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "ada.bank").symlink_to(file)
    async with opened(tmp_path / "links") as memory:
        with pytest.raises(NotABank, match="Nothing was erased"):
            await memory.drop("ada")
    assert file.exists()
    assert (tmp_path / "links" / "ada.bank").is_symlink()


@pytest.mark.parametrize("target", ["nowhere", "ada.bank"])
async def test_a_link_to_nowhere_says_so_and_can_be_dropped(tmp_path, target):
    (tmp_path / "ada.bank").symlink_to(tmp_path / target)
    async with opened(tmp_path) as memory:
        for call in (lambda: memory.bank("ada"), lambda: memory.info("ada")):
            with pytest.raises(StoreUnavailable, match=r"ada\.bank is a symbolic link that leads nowhere"):
                await call()
        assert not (tmp_path / "nowhere").exists()
        await memory.drop("ada")
        assert await memory.banks() == ()


async def test_a_bank_with_another_name_is_not_called_erased(tmp_path):
    async with opened(tmp_path) as memory:
        await filled(memory)
        os.link(tmp_path / "ada.bank", tmp_path / "second name")
        with pytest.raises(StoreUnavailable, match="hard link"):
            await memory.drop("ada")
    assert len(await ids_of(tmp_path)) == 3


async def test_a_folder_in_place_of_a_bank_is_refused(tmp_path):
    (tmp_path / "ada.bank").mkdir()
    banks = SqliteFolder(tmp_path)
    with pytest.raises(NotABank, match="folder"):
        await banks.drop("ada")
    await banks.close()


async def test_the_jobs_of_a_linked_bank_are_found(linked, tmp_path):
    from recollect.domain.changes import Changeset
    from recollect.domain.jobs import Job

    banks = SqliteFolder(tmp_path / "real")
    links = SqliteFolder(linked)
    assert await links.banks_with_jobs(until=None) == ()
    bank = await banks.open("ada", embedder="hash-64", dimension=64)
    await bank.commit(Changeset(jobs=(Job(id="j1", kind="knot", payload=""),)))
    assert await links.banks_with_jobs(until=None) == ("ada",)
    await banks.close()
    await links.close()
