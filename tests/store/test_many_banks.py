"""Many banks in one process: few are open at a time, and nobody notices."""

import asyncio
import gc
import os
import resource
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Memory, Message
from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job
from recollect.errors import BankNotFound, InvalidInput, StoreError, StoreUnavailable
from recollect.store.sqlite import peek
from recollect.store.sqlite.folder import SqliteFolder
from recollect.store.stores import OpenLimits
from recollect.testing.models import HashEmbedder

LISTED = "/proc/self/fd"
MANY_BANKS, MANY_DESCRIPTORS, MANY_MB = 2_000, 256, 600

counts_descriptors = pytest.mark.skipif(not os.path.isdir(LISTED), reason="descriptors are counted in /proc")


def descriptors():
    return len(os.listdir(LISTED))


def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 2**20


@contextmanager
def at_most(files):
    """Lower the limit on this process's descriptors for a while."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def said(n=0):
    return Message(id=f"m{n}", text="I adopted Toby from the shelter.")


async def use(memory, count, most=lambda: None):
    for n in range(count):
        bank = await memory.bank(f"user{n}")
        await bank.retain(said(), session="s")
        assert (await bank.recall("Toby")).evidence
        most()


@counts_descriptors
async def test_more_banks_than_there_are_descriptors(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), open_banks=5) as memory:
        gc.collect()
        before = descriptors()
        with at_most(before + 60):
            await use(memory, 40)
            first = await memory.bank("user0")
            assert len(await first.messages()) == 1
        assert len(await memory.banks()) == 40
        assert len(memory._stores._open_banks) == 5


@counts_descriptors
async def test_running_out_of_descriptors_is_told_as_that(tmp_path):
    stores = SqliteFolder(tmp_path)
    await stores.names()  # the thread is there
    with at_most(descriptors() + 1), pytest.raises(StoreUnavailable, match="too many open files"):
        await stores.open("ada", embedder="e", dimension=8)
    await stores.close()


async def test_a_bank_that_was_closed_behind_it_opens_anew(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), open_banks=1) as memory:
        ada, bram = await memory.bank("ada"), await memory.bank("bram")
        for n in range(3):
            await ada.retain(said(n), session="s")
            await bram.retain(said(n), session="s")
            assert len((await ada.recall("Toby")).evidence) == n + 1
            assert len((await bram.recall("Toby")).evidence) == n + 1
            assert len(memory._stores._open_banks) == 1


async def test_a_bank_can_be_closed_and_goes_on(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        ada = await memory.bank("ada")
        await ada.retain(said(), session="s")
        await ada.close()
        assert not [file.name for file in tmp_path.iterdir() if file.name.endswith("-wal")]
        assert len((await ada.recall("Toby")).evidence) == 1
    with pytest.raises(StoreError, match="closed"):
        await ada.messages()


async def test_the_same_bank_object_is_given_as_long_as_it_is_held(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), open_banks=1) as memory:
        ada = await memory.bank("ada")
        await memory.bank("bram")
        assert await memory.bank("ada") is ada
        await memory.drop("ada")
        assert await memory.bank("ada") is not ada


async def test_what_nobody_holds_does_not_pile_up(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), model=None, open_banks=2) as memory:
        await use(memory, 8)
        gc.collect()
        assert len(memory._banks) <= 2
        assert len(memory._stores._stores) <= 2


async def test_an_open_stream_keeps_its_bank_open(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), open_banks=1) as memory:
        ada = await memory.bank("ada")
        await ada.retain([said(n) for n in range(3)], session="s")
        lines = ada.export()
        first = [await anext(lines) for _ in range(2)]  # the head, and the first that is read from the file
        await use(memory, 3)
        assert ada._store in memory._stores._open_banks._sizes
        await ada.retain(said(9), session="s")
        rest = [line async for line in lines]
        assert first
        assert sum("I adopted" in line and '"m9"' in line for line in rest) == 0, "the stream shows one moment"


async def test_a_bank_that_is_written_is_not_closed(tmp_path):
    stores = SqliteFolder(tmp_path, limits=OpenLimits(banks=1))
    ada = await stores.open("ada", embedder="e", dimension=8)
    with ada._database.write_transaction():
        bram = await stores.open("bram", embedder="e", dimension=8)
        await bram.info()
        assert not await asyncio.to_thread(ada.give_back)
        assert len(stores._open_banks) == 2
    assert len(stores._open_banks) == 1
    await stores.close()


async def test_two_banks_that_close_each_other_do_not_wait_for_each_other(tmp_path):
    """A search closes other banks while it holds its own index, so it must not wait for theirs."""
    async with Memory.open(tmp_path, embedder=HashEmbedder(), open_banks=2) as memory:
        ada, bob = await memory.bank("ada"), await memory.bank("bob")
        for bank in (ada, bob):
            await bank.retain(said(), session="s")
        memory._stores._open_banks._limits = OpenLimits(banks=1, megabytes=1)
        held, done = threading.Event(), threading.Event()

        def hold_index():
            with ada._store._index.live.locked():
                held.set()
                done.wait()

        holder = threading.Thread(target=hold_index)
        holder.start()
        try:
            await asyncio.to_thread(held.wait)
            assert (await bob.recall("Toby")).evidence  # ada is one too many, and its index is held
        finally:
            done.set()
            holder.join()
        assert (await ada.recall("Toby")).evidence


async def test_memory_bounds_what_is_open_too(tmp_path, monkeypatch):
    stores = SqliteFolder(tmp_path, limits=OpenLimits(banks=10, megabytes=1))
    monkeypatch.setattr("recollect.store.sqlite.store.SqliteStore.held_bytes", 400_000)
    for name in ("a", "b", "c"):
        await stores.open(name, embedder="e", dimension=8)
    assert len(stores._open_banks) == 2
    await stores.close()


async def test_a_bank_that_another_process_erased_does_not_come_back_empty(tmp_path):
    stores, others = SqliteFolder(tmp_path), SqliteFolder(tmp_path)
    ada = await stores.open("ada", embedder="e", dimension=8)
    await ada.release()
    await others.drop("ada")
    with pytest.raises(BankNotFound, match="erased"):
        await ada.info()
    assert await others.names() == ()
    await stores.close()
    await others.close()


async def test_many_tasks_use_more_banks_than_may_be_open(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), open_banks=2) as memory:

        async def talk(n):
            for turn in range(2):
                bank = await memory.bank(f"user{n % 3}")
                await bank.retain(said(f"{n}-{turn}"), session="s")
                assert (await bank.recall("Toby")).evidence

        await asyncio.gather(*(talk(n) for n in range(6)))
        counts = [len(await (await memory.bank(f"user{n}")).messages()) for n in range(3)]
        assert counts == [4] * 3


async def test_opening_a_bank_does_not_hold_up_the_event_loop(tmp_path, monkeypatch):
    """A bank that takes long to open, such as one that another process writes to, holds up nobody else."""
    made, go_on = threading.Event(), threading.Event()
    claim = "recollect.store.sqlite.store._claim_embedder"

    def slow(database, *embedder):
        made.set()
        assert go_on.wait(30)
        return embedder

    stores = SqliteFolder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(claim, slow)
        opening = [asyncio.create_task(stores.open("ada", embedder="e", dimension=8)) for _ in range(2)]
        assert await asyncio.to_thread(made.wait, 30)
        assert not any(task.done() for task in opening)
        go_on.set()
        first, second = await asyncio.gather(*opening)
    assert first is second
    await stores.close()


@pytest.mark.parametrize("wrong", [{"banks": 0}, {"megabytes": 0}])
def test_limits_that_cannot_be_are_refused(wrong):
    with pytest.raises(InvalidInput):
        OpenLimits(**wrong)


# Jobs across banks


async def queued(stores, name, *jobs):
    store = await stores.open(name, embedder="e", dimension=8)
    await store.commit(Changeset(jobs=jobs))


def job(id_="j", kind="knot", **more):
    return Job(id=id_, kind=kind, payload="", **more)


@pytest.mark.parametrize("where", ["folder", ":memory:"])
async def test_the_look_finds_the_banks_with_jobs_and_opens_none(tmp_path, where):
    now = datetime(2024, 5, 1, 12, tzinfo=UTC)
    stores = SqliteFolder(tmp_path if where == "folder" else where, limits=OpenLimits(banks=1))
    for name in ("a", "b", "c", "d", "e"):
        await queued(stores, name)
    await queued(stores, "b", job(due=now))
    await queued(stores, "d", job(due=now - timedelta(hours=1)), job("k", "other"))
    await queued(stores, "e", job(due=now + timedelta(hours=1)))

    async def look(until=now, **more):
        return await stores.banks_with_jobs(until=until, **more)

    assert await look() == ("d", "b")
    assert await look(kinds=("knot",)) == ("d", "b")
    assert await look(kinds=("other",)) == ("d",)
    assert await look(kinds=("nobody's",)) == ()
    assert await look(banks=("a", "b")) == ("b",)
    assert await look(None, kinds=("knot",)) == ("d", "b", "e")
    store = await stores.open("b", embedder="e", dimension=8)
    claimed = await store.claim(["knot"], "w", now, 60)
    assert await look() == ("d",)
    assert await look(now + timedelta(seconds=61)) == ("d", "b"), "its worker may have been killed"
    await store.settle(claimed, now=now)
    assert await look(None, kinds=("knot",)) == ("d", "e")
    if where == "folder":
        assert len(stores._open_banks) == 1
    await stores.close()


async def test_the_look_reads_again_what_has_changed_only(tmp_path, monkeypatch):
    read, reads = peek._read_times, []
    monkeypatch.setattr(peek, "_read_times", lambda file: reads.append(file.stem) or read(file))
    stores = SqliteFolder(tmp_path)
    for name in ("a", "b"):
        await queued(stores, name)
    await stores.close()
    long_ago = time.time() - 60
    for file in tmp_path.glob("*.bank"):
        os.utime(file, (long_ago, long_ago))
    stores = SqliteFolder(tmp_path)
    assert await stores.banks_with_jobs(until=None) == ()
    assert await stores.banks_with_jobs(until=None) == ()
    assert sorted(reads) == ["a", "b"]
    await queued(stores, "b", job())
    assert await stores.banks_with_jobs(until=None) == ("b",)
    assert sorted(reads) == ["a", "b", "b"]
    assert await stores.banks_with_jobs(until=None) == ("b",)
    assert sorted(reads) == ["a", "b", "b", "b"], "what was just written may be written again in the same instant"
    await stores.close()


async def test_a_bank_that_is_copied_into_the_folder_is_found_with_its_jobs(tmp_path):
    there, here = SqliteFolder(tmp_path / "there"), SqliteFolder(tmp_path / "here")
    await queued(there, "ada", job())
    await there.close()
    assert await here.banks_with_jobs(until=None) == ()
    (tmp_path / "here" / "copy.bank").write_bytes((tmp_path / "there" / "ada.bank").read_bytes())
    assert await here.banks_with_jobs(until=None) == ("copy",)
    (tmp_path / "here" / "odd.bank").write_bytes(b"no bank at all" * 1000)
    assert await here.banks_with_jobs(until=None) == ("copy", "odd"), "it may name too much, never too little"
    (tmp_path / "here" / "copy.bank").unlink()
    assert await here.banks_with_jobs(until=None) == ("odd",)
    await here.close()


@pytest.mark.slow
@counts_descriptors
@pytest.mark.timeout(1200)
async def test_two_thousand_banks_in_turn(tmp_path):
    most = 0

    def count():
        nonlocal most
        most = max(most, descriptors())

    with at_most(MANY_DESCRIPTORS):
        async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
            await use(memory, MANY_BANKS, count)
    taken = megabytes()
    print(f"{MANY_BANKS} banks: at most {most} descriptors, {taken} MB")
    assert most < MANY_DESCRIPTORS
    assert taken < MANY_MB
