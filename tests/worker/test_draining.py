"""Draining: everything there is, whoever else works on the bank."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

from hands import GO_ON, Clock, Gate, Hand, job, opened, queue, raising, states, until, worker_of

from recollect.domain.changes import Changeset
from recollect.errors import ModelUnavailable
from recollect.worker import BackgroundWorker, JobOutcome
from recollect.worker.background import CLOSED

LATER = {"due": Clock().now.replace(hour=18)}


async def test_a_hurry_goes_kind_by_kind_so_that_each_sees_what_the_one_before_made(store):
    order = []

    async def note(job):
        order.append(job.id)

    first = Hand("a", does=note, makes=lambda done: Changeset(settings=(("b.then", f"b of {done.id}"),)))
    second = Hand("b", does=note)
    await queue(store, job("b0", "b", **LATER), job("a0", "a", **LATER), job("a1", "a", **LATER))
    worker = worker_of(store, first, second, concurrency=1)
    assert (await worker.drain()).outcomes == {}, "nothing is due"
    report = await worker.drain(ignore_schedule=True)
    assert report.outcomes == {JobOutcome.DONE: 5}
    assert order == ["a0", "a1", "b of a0", "b of a1", "b0"]


async def test_it_goes_on_until_no_kind_has_caused_anything(store):
    """The last kind may cause a job of the first."""
    first = Hand("a", makes=lambda done: Changeset(settings=(("b.then", "b1"),)) if done.id == "a0" else Changeset())
    second = Hand("b", makes=lambda done: Changeset(settings=(("a.then", "a1"),)))
    await queue(store, job("a0", "a", **LATER))
    assert (await worker_of(store, first, second).drain(ignore_schedule=True)).done == 3
    assert first.ended == ["a0", "a1"]
    assert await store.jobs() == []


async def test_it_does_not_return_while_its_own_worker_is_at_a_job(store):
    """The background loop has claimed the job before the drain could."""
    gate = Gate()
    hand = Hand(
        does=gate, makes=lambda done: Changeset(settings=(("knot.then", "j2"),)) if done.id == "j1" else Changeset()
    )
    background = BackgroundWorker(worker := worker_of(store, hand))
    await queue(store, job())
    background.wake()
    await gate.reached.wait()
    draining = asyncio.create_task(background.drain())
    for _ in range(20):
        await asyncio.sleep(0.002)
        assert not draining.done()
    gate.open.set()
    assert await draining == ()
    assert hand.ended == ["j1", "j2"]
    assert await store.jobs() == []
    await background.close()
    assert worker.automatic


async def test_what_the_background_loop_has_failed_at_is_told_too(store):
    hand = Hand(does=raising(ModelUnavailable("gone")))
    background = BackgroundWorker(worker_of(store, hand))
    await queue(store, job())
    background.wake()

    async def failed():
        return [record.error for record in await store.jobs()] == ["ModelUnavailable: gone"]

    await until(failed)
    assert await background.drain() == ("j1: ModelUnavailable: gone",)
    await background.close()


async def test_two_drains_and_the_background_loop_do_each_job_once(store):
    hand = Hand(does=lambda job: asyncio.sleep(0.001))
    background = BackgroundWorker(worker_of(store, hand))
    await queue(store, *(job(f"j{n}") for n in range(30)))
    background.wake()
    assert await asyncio.gather(background.drain(), background.drain()) == [(), ()]
    assert Counter(hand.ended) == {f"j{n}": 1 for n in range(30)}
    await background.close()


def meeting_once(barrier):
    """Return work that waits at the barrier the first time, and does nothing later."""
    met = []

    async def work(job):
        if not met:
            met.append(job)
            await barrier.wait()

    return work


async def test_two_workers_in_one_process_do_each_job_once(tmp_path):
    (banks, store), (others, other) = await opened(tmp_path), await opened(tmp_path)
    both = asyncio.Barrier(2)  # the first job of each waits for the first job of the other
    hand, second = (Hand(does=meeting_once(both)) for _ in range(2))
    await queue(store, *(job(f"j{n}") for n in range(30)))
    reports = await asyncio.gather(worker_of(store, hand).drain(), worker_of(other, second).drain())
    assert sum(report.done for report in reports) == 30
    assert Counter(hand.ended + second.ended) == {f"j{n}": 1 for n in range(30)}
    assert await store.jobs() == []
    await banks.close()
    await others.close()


async def test_another_workers_job_is_told_of_and_not_waited_for(store):
    gate = Gate()
    await queue(store, job())
    other = asyncio.create_task(worker_of(store, Hand(does=gate)).drain())
    await gate.reached.wait()
    (told,) = (await worker_of(store, Hand()).drain(ignore_schedule=True)).errors
    assert told.startswith("j1: worker-")
    assert told.endswith("is still doing it")
    gate.open.set()
    await other


async def test_two_processes_do_each_job_once(tmp_path):
    banks, store = await opened(tmp_path)
    await queue(store, *(job(f"j{n}") for n in range(60)))
    child = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, Path(__file__).with_name("other_process.py"), tmp_path],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert await asyncio.to_thread(child.stdout.readline) == "at work\n"

    async def does(job):
        (tmp_path / GO_ON).touch()
        await asyncio.sleep(0.002)

    hand = Hand(does=does)
    report = await worker_of(store, hand).drain()
    (theirs, _) = await asyncio.to_thread(child.communicate)
    assert child.returncode == 0
    assert report.done == len(hand.ended) > 0
    assert theirs.split()
    assert Counter(hand.ended + theirs.split()) == {f"j{n}": 1 for n in range(60)}
    assert await store.jobs() == []
    await banks.close()


async def test_closing_ends_a_drain_with_a_word_and_frees_its_jobs(store):
    gate = Gate()
    background = BackgroundWorker(worker_of(store, Hand(does=gate)))
    await queue(store, job())
    draining = asyncio.create_task(background.drain())
    await gate.reached.wait()
    await background.close()
    assert await draining == (CLOSED,)
    assert await states(store) == {"j1": "waiting"}


async def test_who_cancels_a_drain_is_cancelled(store):
    gate = Gate()
    background = BackgroundWorker(worker_of(store, Hand(does=gate)))
    await queue(store, job())
    draining = asyncio.create_task(background.drain())
    await gate.reached.wait()
    draining.cancel()
    await asyncio.wait([draining])
    assert draining.cancelled()
    assert await states(store) == {"j1": "waiting"}
