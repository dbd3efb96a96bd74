"""Writing though others write as well: nobody is overtaken for ever."""

import asyncio

import pytest
from hands import Clock, job, opened, until

from recollect.domain.changes import Changeset
from recollect.errors import StaleWrite
from recollect.store.commit_retry import ATTEMPTS, FREE_ATTEMPTS, commit_derived, derive_changes, retry_until_current
from recollect.worker import Worker, WorkerSettings


async def test_what_takes_long_to_derive_is_written_though_others_never_stop(store):
    """A conversation is imported message by message while its facts are woven in."""
    derived, kept, stop = 0, 0, False

    async def slow(_):
        nonlocal derived
        derived += 1
        before = kept
        if derived <= FREE_ATTEMPTS:  # for as long as it is courteous, others are faster
            await until(lambda: kept >= before + 2)
        await asyncio.sleep(0.02)
        return Changeset(settings=(("slow", "written"),))

    async def quick(_):
        return Changeset(settings=(("quick", str(kept)),))

    async def import_():
        nonlocal kept
        while not stop:
            await commit_derived(store, quick)
            kept += 1

    async def write():
        await store.commit(await derive_changes(store, slow))

    importing = asyncio.create_task(import_())
    await retry_until_current(store, write)
    assert await store.setting("slow") == "written"
    assert FREE_ATTEMPTS < derived <= FREE_ATTEMPTS + 2, (
        "once it has the turn, it is stale by what was under way at most"
    )
    before = kept
    await until(lambda: kept >= before + 3)  # and the others go on
    stop = True
    await importing


async def test_it_gives_up_in_the_end(store, monkeypatch):
    monkeypatch.setattr("recollect.store.commit_retry._compute_pause_s", lambda attempt: 0)
    tries = 0

    async def write():
        nonlocal tries
        tries += 1
        raise StaleWrite("another process is faster")

    with pytest.raises(StaleWrite, match="another process"):
        await retry_until_current(store, write)
    assert tries == ATTEMPTS
    assert await retry_until_current(store, lambda: asyncio.sleep(0, "free again")) == "free again"


async def test_another_error_ends_it_at_once_and_leaves_the_turn_free(store):
    async def write():
        raise ValueError("broken")

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            await retry_until_current(store, write)


async def test_one_bank_does_not_wait_for_another(store, monkeypatch):
    monkeypatch.setattr("recollect.store.commit_retry._compute_pause_s", lambda attempt: 0)
    banks, other = await opened()
    tries, has_turn, done = 0, asyncio.Event(), asyncio.Event()

    async def starved():
        nonlocal tries
        tries += 1
        if tries <= FREE_ATTEMPTS:
            raise StaleWrite("others were faster")
        has_turn.set()
        await done.wait()

    starving = asyncio.create_task(retry_until_current(store, starved))
    await has_turn.wait()
    assert await retry_until_current(other, lambda: asyncio.sleep(0, "written")) == "written"
    waiting = asyncio.create_task(retry_until_current(store, lambda: asyncio.sleep(0, "written after it")))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    done.set()
    await starving
    assert await waiting == "written after it"
    await banks.close()


async def test_what_was_read_before_another_write_is_never_committed(store):
    """A consolidator counts what the bank holds; somebody else writes after each of its first readings."""
    await store.commit(Changeset(jobs=(job("count"),)))
    counts, written = [], 0

    class Counter:
        kind = "knot"

        def plan_jobs(self, changes, now):
            return ()

        async def consolidate(self, job, reader, now):
            async def derive(reader):
                nonlocal written
                values = [value for n in range(9) if (value := await reader.setting(f"word {n}")) is not None]
                counts.append(len(values))
                if written < 2:
                    await store.commit(Changeset(settings=((f"word {written}", "x"),)))
                    written += 1
                return Changeset(settings=(("count", str(len(values))),))

            return derive

    report = await Worker(store, [Counter()], clock=Clock()).drain()
    assert (report.errors, counts) == ((), [0, 1, 2])
    assert await store.setting("count") == "2"


async def test_changes_are_of_the_version_before_the_first_reading_whatever_they_claim(store):
    before = await store.version()

    async def derive(reader):
        await reader.speakers()
        await store.commit(Changeset(settings=(("other", "written"),)))
        return Changeset(expected_version=await reader.version(), settings=(("own", "written"),))

    changes = await derive_changes(store, derive)
    assert changes.expected_version == before
    with pytest.raises(StaleWrite):
        await store.commit(changes)
    assert await store.setting("own") is None


async def test_a_job_whose_embedder_hangs_in_the_derivation_fails_in_its_time(store):
    await store.commit(Changeset(jobs=(job("hang"),)))

    class Hanging:
        kind = "knot"

        def plan_jobs(self, changes, now):
            return ()

        async def consolidate(self, job, reader, now):
            async def derive(reader):
                await asyncio.Event().wait()

            return derive

    report = await Worker(store, [Hanging()], clock=Clock(), settings=WorkerSettings(call_timeout_s=0.05)).drain()
    assert "took longer than 0.05 s" in report.errors[0]
