"""A lease is short and renewed while the work goes on, whatever the clock shows and whatever a model raises."""

import asyncio
from datetime import timedelta

import pytest
from hands import NOON, Clock, Gate, Hand, Wrapped, job, opened, queue, states, until, worker_of

from recollect.domain.changes import Changeset
from recollect.domain.jobs import JobState
from recollect.errors import StoreUnavailable
from recollect.worker import BackgroundWorker, JobOutcome, WorkerSettings


class NoError(BaseException):
    """What some library raises that is not an Exception."""


@pytest.mark.parametrize("raised", [asyncio.CancelledError, GeneratorExit, NoError])
async def test_what_is_no_error_is_a_failure_like_any_other(store, raised):
    async def does(job):
        raise raised("by the model")

    clock, hand = Clock(), Hand(does=does)
    worker = worker_of(store, hand, clock=clock, attempts=3, backoff_s=10)
    await queue(store, job())
    for attempt, pause in enumerate((10, 40, None), start=1):
        report = await worker.drain(ignore_schedule=True)
        assert report.outcomes == {JobOutcome.DELAYED if pause else JobOutcome.DEAD: 1}
        (record,) = await store.jobs()
        assert (record.attempts, len(hand.begun)) == (attempt, attempt)
        assert raised.__name__ in record.error
        clock.on(pause or 0)


async def test_the_loop_outlives_a_model_that_cancels(store):
    async def does(job):
        if job.id == "j1":
            asyncio.current_task().cancel()
            await asyncio.sleep(0)

    hand = Hand(does=does)
    background = BackgroundWorker(worker_of(store, hand))
    await queue(store, job(), job("j2"))
    background.wake()
    await until(lambda: hand.ended == ["j2"])
    await until(lambda: not background.at_work)
    (record,) = await store.jobs()
    assert (record.id, record.state, record.attempts) == ("j1", JobState.WAITING, 1)
    await background.close()


async def test_a_lease_is_renewed_while_the_work_goes_on(store):
    """The clock passes the lease many times, and nobody else gets the job."""
    clock, gate, renewals = Clock(), Gate(), 0

    async def renew_lease(*args):
        nonlocal renewals
        clock.on(30)
        await store.renew_lease(*args)
        renewals += 1

    hand = Hand(does=gate)
    worker = worker_of(Wrapped(store, renew_lease=renew_lease), hand, clock=clock, lease_s=45)
    worker._settings = ShortRenewals(lease_s=45)
    await queue(store, job())
    working = asyncio.create_task(worker.drain())
    await until(lambda: renewals >= 5)
    assert await store.claim(["knot"], "another", clock.now, 45) is None
    gate.open.set()
    assert (await working).outcomes == {JobOutcome.DONE: 1}


class ShortRenewals(WorkerSettings):
    @property
    def renewal_s(self) -> float:
        return 0.001


async def test_a_worker_that_lost_its_lease_stops_at_once_and_stores_nothing(store):
    clock, gate = Clock(), Gate()
    worker = worker_of(store, Hand(does=gate), clock=clock)
    worker._settings = ShortRenewals(lease_s=45)
    await queue(store, job())
    working = asyncio.create_task(worker.drain())
    await gate.reached.wait()
    await store.drop_job("j1")
    assert (await working).outcomes == {JobOutcome.LOST: 1}, "the gate was never opened"
    assert await store.setting("done j1") is None


async def test_a_renewal_that_fails_does_not_stop_the_work(store):
    gate, tries = Gate(), 0

    async def renew_lease(*args):
        nonlocal tries
        tries += 1
        raise StoreUnavailable("another process is writing")

    worker = worker_of(Wrapped(store, renew_lease=renew_lease), Hand(does=gate))
    worker._settings = ShortRenewals()
    await queue(store, job())
    working = asyncio.create_task(worker.drain())
    await until(lambda: tries >= 3)
    gate.open.set()
    assert (await working).outcomes == {JobOutcome.DONE: 1}


async def test_a_commit_that_takes_long_is_renewed_and_counted_as_what_it_is(store):
    """A renewal during a commit finds that the job is gone, because it is done."""
    renewed = asyncio.Event()

    async def renew_lease(*args):
        try:
            await store.renew_lease(*args)
        finally:
            renewed.set()

    async def commit(changes):
        await store.commit(changes)
        renewed.clear()
        await renewed.wait()

    worker = worker_of(Wrapped(store, renew_lease=renew_lease, commit=commit), Hand())
    worker._settings = ShortRenewals()
    await queue(store, job())
    assert (await worker.drain()).outcomes == {JobOutcome.DONE: 1}
    assert await store.setting("done j1") == "of j1"


@pytest.mark.parametrize("jump_s", [3600, -3600])
async def test_a_worker_does_not_take_its_own_jobs_when_the_clock_jumps(store, jump_s):
    """As after a machine has slept, or after its clock was set."""
    clock, gate = Clock(), Gate()
    hand = Hand(does=gate)
    background = BackgroundWorker(worker_of(store, hand, clock=clock))
    await queue(store, job())
    background.wake()
    await gate.reached.wait()
    clock.on(jump_s)
    await queue(store, job("j2"))
    background.wake()
    await until(lambda: "j2" in hand.begun)
    assert hand.begun == ["j1", "j2"]
    gate.open.set()
    await until(lambda: not background.at_work)
    assert await store.jobs() == []
    await background.close()


@pytest.mark.parametrize("jump_s", [3600, -3600])
async def test_a_job_that_another_took_after_a_jump_of_the_clock_is_stored_once(store, jump_s):
    clock, gate, fast = Clock(), Gate(), Hand()
    await queue(store, job())
    late = asyncio.create_task(worker_of(store, Hand(does=gate), clock=clock).drain())
    await gate.reached.wait()
    clock.on(jump_s)
    assert (await worker_of(store, fast, clock=clock).drain()).done == 1
    await store.commit(Changeset(settings=(("done j1", "by the other"),)))
    gate.open.set()
    assert (await late).outcomes == {JobOutcome.LOST: 1}
    assert await store.setting("done j1") == "by the other"


@pytest.mark.parametrize("seconds", [46, 9e6, -46, -9e6])
async def test_the_job_of_a_killed_worker_is_found_after_the_lease_or_a_jump(tmp_path, seconds):
    banks, bank = await opened(tmp_path)
    await queue(bank, job())
    killed = await bank.claim(["knot"], "killed", NOON, WorkerSettings().lease_s)
    assert killed is not None
    clock, hand = Clock(), Hand()
    assert await banks.banks_with_jobs(until=clock.now) == ()
    clock.on(seconds)
    assert await banks.banks_with_jobs(until=clock.now) == ("ada",)
    assert (await worker_of(bank, hand, clock=clock).drain()).done == 1
    assert await states(bank) == {}
    await banks.close()


def test_a_killed_workers_job_is_free_within_a_minute():
    settings = WorkerSettings()
    assert timedelta(seconds=settings.lease_s) <= timedelta(minutes=1)
    longest_wait_s = 30  # for the write lock of a bank
    assert settings.renewal_s + longest_wait_s <= settings.lease_s
