"""One job after another: done, failed, stopped, taken away."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest
from hands import NOON, Clock, Gate, Hand, Wrapped, job, opened, queue, raising, states, until, worker_of

from recollect.domain.changes import Changeset
from recollect.domain.jobs import JobState
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable, NoModel, StaleWrite, StoreUnavailable
from recollect.store.commit_retry import ATTEMPTS
from recollect.worker import JobOutcome


async def test_a_job_is_done_and_gone_with_what_came_of_it(store):
    hand = Hand()
    await queue(store, job())
    report = await worker_of(store, hand).drain()
    assert (report.outcomes, report.errors) == ({JobOutcome.DONE: 1}, ())
    assert await store.setting("done j1") == "of j1"
    assert await store.jobs() == []


async def test_jobs_caused_by_a_job_are_in_the_same_transaction(store):
    hand = Hand(makes=lambda done: Changeset(settings=(("knot.then", "j2"),)) if done.id == "j1" else Changeset())
    await queue(store, job())
    commits = []

    async def commit(changes):
        commits.append(changes)
        await store.commit(changes)

    await worker_of(Wrapped(store, commit=commit), hand).drain()
    first = commits[0]
    assert [caused.id for caused in first.jobs] == ["j2"]
    assert first.settled_job.id == "j1"
    assert first.settings
    assert hand.ended == ["j1", "j2"]
    assert await store.jobs() == []


async def test_a_job_that_changes_nothing_disturbs_nobody(store):
    await queue(store, job())
    seen = (await store.look_up([], [])).version

    class Nothing(Hand):
        async def consolidate(self, job, reader, now):
            async def derive(_):
                return Changeset()

            return derive

    assert (await worker_of(store, Nothing()).drain()).done == 1
    assert await store.jobs() == []
    await store.commit(Changeset(expected_version=seen, settings=(("still", "fresh"),)))


@pytest.mark.parametrize("error", [InvalidReply("an empty fact", '{"facts": [""]}'), KeyError("a bug")])
async def test_what_fails_is_kept_with_its_error_changes_nothing_and_ends_dead(store, error):
    clock, hand = Clock(), Hand(does=raising(*[error] * 9))
    worker = worker_of(store, hand, clock=clock, attempts=3, backoff_s=10)
    await queue(store, job())
    version = (await store.look_up([], [])).version
    for attempt, pause in enumerate((10, 40, None), start=1):
        report = await worker.drain(ignore_schedule=True)
        assert report.outcomes == {JobOutcome.DELAYED if pause else JobOutcome.DEAD: 1}
        assert report.errors == (f"j1: {type(error).__name__}: {error}",)
        (record,) = await store.jobs()
        assert record.state is (JobState.WAITING if pause else JobState.DEAD)
        assert (record.attempts, record.failed) == (attempt, clock.now)
        assert record.error == f"{type(error).__name__}: {error}"
        assert record.reply == getattr(error, "reply", None)
        if pause:
            assert record.due == clock.now + timedelta(seconds=pause)
            clock.on(pause - 1)
            assert (await worker.drain(ignore_schedule=True)).outcomes == {}, "too early"
            clock.on(1)
    clock.on(1e6)
    assert (await worker.drain(ignore_schedule=True)).outcomes == {}, "dead is dead"
    assert (await store.look_up([], [])).version == version
    await store.retry_job("j1")
    hand._does = None
    assert (await worker.drain()).done == 1


async def test_an_exception_in_what_is_derived_is_a_failure_like_any_other(store):
    def makes(done):
        raise ZeroDivisionError("while deriving")

    clock = Clock()
    worker = worker_of(store, Hand(makes=makes), Hand("other"), clock=clock)
    await queue(store, job(), job("j2", "other"))
    report = await worker.drain()
    assert report.outcomes == {JobOutcome.DELAYED: 1, JobOutcome.DONE: 1}
    (record,) = await store.jobs()
    assert (record.id, record.error) == ("j1", "ZeroDivisionError: while deriving")


async def test_a_limit_uses_up_no_attempt_and_waits_until_it_opens(store):
    clock, opens = Clock(), NOON + timedelta(hours=12)
    hand = Hand(does=raising(*[LimitReached("no tokens left", opens)] * 3))
    worker = worker_of(store, hand, clock=clock, attempts=1)
    await queue(store, job())
    for _ in range(3):
        assert (await worker.drain(ignore_schedule=True)).errors == ("j1: LimitReached: no tokens left",)
        (record,) = await store.jobs()
        assert (record.state, record.attempts, record.due) == (JobState.WAITING, 0, max(opens, record.due))
        clock.now = record.due - timedelta(microseconds=1)
        assert (await worker.drain()).outcomes == {}
        clock.now = record.due
    assert (await worker.drain(ignore_schedule=True)).done == 1


@pytest.mark.parametrize("error", [LimitReached("no tokens left", None), NoModel("none"), ModelUnavailable("gone")])
async def test_who_is_in_a_hurry_has_what_waits_for_a_limit_or_a_model_tried_once(store, error):
    clock, hand = Clock(), Hand(does=raising(*[error] * 4))
    worker = worker_of(store, hand, clock=clock, attempts=1)
    await queue(store, job(), job("j2"))
    assert (await worker.drain()).outcomes == {JobOutcome.DELAYED: 2}
    clock.on(1)
    assert (await worker.drain()).outcomes == {}, "nobody is in a hurry"
    assert (await worker.drain(ignore_schedule=True)).outcomes == {JobOutcome.DELAYED: 2}, "each once"
    clock.on(1)
    assert (await worker.drain(ignore_schedule=True)).outcomes == {JobOutcome.DONE: 2}
    assert len(hand.begun) == 6


async def test_an_outage_of_a_day_kills_no_job_and_is_asked_about_ever_more_seldom(store):
    clock, hand = Clock(), Hand(does=raising(*[ModelUnavailable("gone")] * 999))
    worker = worker_of(store, hand, clock=clock)
    await queue(store, job())
    asked = []
    for _ in range(24 * 60 * 4):
        if (await worker.drain()).outcomes:
            asked.append((clock.now - NOON).total_seconds())
        clock.on(15)
    assert asked[:6] == [0, 15, 75, 315, 1275, 4875]
    assert {after - before for before, after in pairwise(asked[5:])} == {3600}
    (record,) = await store.jobs()
    assert (record.state, record.attempts, record.error) == (JobState.WAITING, 0, "ModelUnavailable: gone")
    hand._does = None
    clock.on(3600)
    assert (await worker.drain()).done == 1


async def test_without_a_model_jobs_wait(store):
    hand = Hand(does=raising(NoModel("none is configured")))
    clock = Clock()
    worker = worker_of(store, hand, clock=clock, attempts=1)
    await queue(store, job())
    assert (await worker.drain(ignore_schedule=True)).outcomes == {JobOutcome.DELAYED: 1}
    clock.on(3600)
    assert (await worker.drain(ignore_schedule=True)).done == 1


async def test_others_who_are_faster_cost_no_second_call(store):
    hand = Hand()
    await queue(store, job())
    left = 7

    async def commit(changes):
        nonlocal left
        if left:
            left -= 1
            await store.commit(Changeset(settings=(("another", str(left)),)))
        await store.commit(changes)

    assert (await worker_of(Wrapped(store, commit=commit), hand).drain()).done == 1
    assert hand.begun == ["j1"]
    assert len(hand.derived) == 8
    assert await store.setting("done j1") == "of j1"


async def test_a_storm_of_others_puts_the_job_off_and_never_lays_it_aside(store, monkeypatch):
    monkeypatch.setattr("recollect.store.commit_retry._compute_pause_s", lambda attempt: 0)
    clock, storm = Clock(), True

    async def commit(changes):
        if storm:
            raise StaleWrite("others were faster")
        await store.commit(changes)

    hand = Hand()
    worker = worker_of(Wrapped(store, commit=commit), hand, clock=clock, attempts=2, backoff_s=10)
    await queue(store, job())
    for _ in range(3):
        report = await worker.drain(ignore_schedule=True)
        assert report.errors == ("j1: StaleWrite: others were faster",)
        clock.on(10)
    assert len(hand.derived) == 3 * ATTEMPTS
    storm = False
    assert (await worker.drain(ignore_schedule=True)).done == 1


async def test_a_job_that_was_dropped_meanwhile_changes_nothing(store):
    gate = Gate()
    worker = worker_of(store, Hand(does=gate))
    await queue(store, job())
    draining = asyncio.create_task(worker.drain())
    await gate.reached.wait()
    await store.drop_job("j1")
    gate.open.set()
    assert (await draining).outcomes == {JobOutcome.LOST: 1}
    assert await store.setting("done j1") is None


async def test_a_lease_that_runs_out_during_a_call_commits_once(store):
    """A worker that was held up, by a suspended machine say, comes back to a job that is another's."""
    clock, gate = Clock(), Gate()
    slow, fast = Hand(does=gate), Hand()
    await queue(store, job())
    late = asyncio.create_task(worker_of(store, slow, clock=clock, lease_s=60, concurrency=1).drain())
    await gate.reached.wait()
    clock.on(61)
    assert (await worker_of(store, fast, clock=clock, lease_s=60).drain()).done == 1
    await store.commit(Changeset(settings=(("done j1", "by the other"),)))
    gate.open.set()
    assert (await late).outcomes == {JobOutcome.LOST: 1}
    assert await store.setting("done j1") == "by the other"


async def test_calls_that_do_not_end_are_stopped_and_reported(store):
    worker = worker_of(store, Hand(does=Gate()), call_timeout_s=0.05)
    await queue(store, job())
    report = await worker.drain()
    assert report.outcomes == {JobOutcome.DELAYED: 1}
    (record,) = await store.jobs()
    assert record.error == "TimeoutError: the calls of the job took longer than 0.05 s"
    assert record.attempts == 1


async def test_a_timeout_of_the_consolidators_own_is_its_own_error(store):
    worker = worker_of(store, Hand(does=raising(TimeoutError("the model slept"))))
    await queue(store, job())
    assert (await worker.drain()).errors == ("j1: TimeoutError: the model slept",)


async def test_a_kind_that_nobody_knows_waits_and_is_told_of(store):
    hand = Hand()
    await queue(store, job(), job("j2", "mystery"), job("j3", "mystery"))
    report = await worker_of(store, hand).drain(ignore_schedule=True)
    assert report.outcomes == {JobOutcome.DONE: 1}
    assert report.errors == ("2 of the kind 'mystery' wait, because no worker here does such jobs",)
    assert await states(store) == {"j2": "waiting", "j3": "waiting"}


async def test_at_most_so_many_jobs_at_a_time(store):
    most = now = 0
    three = asyncio.Barrier(3)

    async def does(job):
        nonlocal most, now
        now += 1
        most = max(most, now)
        await three.wait()  # no job ends before three have begun
        now -= 1

    await queue(store, *(job(f"j{n}") for n in range(9)))
    assert (await worker_of(store, Hand(does=does), concurrency=3).drain()).done == 9
    assert most == 3


class TestCutShort:
    """A job that is cut short is put back, and free at once."""

    async def test_during_its_call(self, store):
        gate = Gate()
        await queue(store, job())
        draining = asyncio.create_task(worker_of(store, Hand(does=gate)).drain())
        await gate.reached.wait()
        await cancelled(draining)
        await self.free(store)

    async def test_though_cancelled_again_and_again(self, store):
        gate, settling, settled = Gate(), asyncio.Event(), asyncio.Event()

        async def settle(job, **how):
            settling.set()
            await settled.wait()
            await store.settle(job, **how)

        await queue(store, job())
        draining = asyncio.create_task(worker_of(Wrapped(store, settle=settle), Hand(does=gate)).drain())
        await gate.reached.wait()
        draining.cancel()
        await settling.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if "settle" not in str(task.get_coro()):
                task.cancel()
        await asyncio.sleep(0)
        settled.set()
        with pytest.raises(asyncio.CancelledError):
            await draining
        await self.free(store)

    async def test_while_it_is_being_claimed(self, store):
        claiming, claimed = asyncio.Event(), asyncio.Event()

        async def claim(*args, **how):
            found = await store.claim(*args, **how)
            claiming.set()
            await claimed.wait()
            return found

        hand = Hand()
        await queue(store, job())
        draining = asyncio.create_task(worker_of(Wrapped(store, claim=claim), hand).drain())
        await claiming.wait()
        assert await states(store) == {"j1": "running"}
        draining.cancel()
        await asyncio.sleep(0)
        claimed.set()
        with pytest.raises(asyncio.CancelledError):
            await draining
        assert hand.begun == []
        await self.free(store)

    async def test_while_its_outcome_is_committed_it_is_done_or_free(self, store):
        """The thread that commits goes on: whoever comes first is right, and the other finds the job taken."""
        for n in range(20):
            name = f"k{n}"
            committing = asyncio.Event()

            async def commit(changes, committing=committing):
                committing.set()
                await store.commit(changes)

            await queue(store, job(name))
            draining = asyncio.create_task(worker_of(Wrapped(store, commit=commit), Hand()).drain())
            await committing.wait()
            for _ in range(n % 4):
                await asyncio.sleep(0)
            await cancelled(draining)

            async def either(name=name):
                done = await store.setting(f"done {name}") is not None
                left = await states(store)
                return (done and left == {}) or (not done and left == {name: "waiting"})

            await until(either)
            await worker_of(store, Hand()).drain()
            assert await store.setting(f"done {name}") == f"of {name}"
            assert await store.jobs() == []

    async def test_while_its_failure_is_written_down_it_is_written_down(self, store):
        settling, settled = asyncio.Event(), asyncio.Event()

        async def settle(job, **how):
            settling.set()
            await settled.wait()
            await store.settle(job, **how)

        worker = worker_of(Wrapped(store, settle=settle), Hand(does=raising(ModelUnavailable("gone"))))
        await queue(store, job())
        draining = asyncio.create_task(worker.drain())
        await settling.wait()
        draining.cancel()
        await asyncio.sleep(0)
        settled.set()
        with pytest.raises(asyncio.CancelledError):
            await draining
        (record,) = await store.jobs()
        assert (record.state, record.error, record.attempts) == (JobState.WAITING, "ModelUnavailable: gone", 0)

    async def free(self, store):
        (record,) = await store.jobs()
        assert (record.state, record.error, record.attempts) == (JobState.WAITING, "the job was interrupted", 0)
        assert (await worker_of(store, Hand()).drain()).done == 1, "at once, though the clock stands"


async def test_a_program_that_ends_without_closing_frees_what_it_was_doing(tmp_path):
    folders = []

    def program():
        """An event loop that ends while jobs are done cancels every task there is, all at once."""

        async def main():
            gate = Gate()
            folder, store = await opened(tmp_path)
            folders.append(folder)
            await queue(store, job(), job("j2"))
            running = asyncio.create_task(worker_of(store, Hand(does=gate)).run())
            await gate.reached.wait()
            await until(lambda: both(store))
            assert not running.done()

        async def both(store):
            return set((await states(store)).values()) == {"running"}

        asyncio.run(main())

    await asyncio.to_thread(program)
    banks, store = await opened(tmp_path)
    assert await states(store) == {"j1": "waiting", "j2": "waiting"}
    assert (await worker_of(store, Hand()).drain()).done == 2
    for folder in (banks, *folders):
        await folder.close()


async def test_a_store_out_of_reach_is_reported_and_nothing_is_raised(store):
    def unreachable(*args, **how):
        raise StoreUnavailable("the disk is full")

    async def down(*args, **how):
        unreachable()

    await queue(store, job())
    report = await worker_of(Wrapped(store, claim=down), Hand()).drain(ignore_schedule=True)
    assert (report.outcomes, report.errors) == ({}, ("StoreUnavailable: the disk is full",))
    report = await worker_of(Wrapped(store, jobs=down), Hand()).drain(ignore_schedule=True)
    assert (report.done, report.errors) == (1, ("StoreUnavailable: the disk is full",))


async def test_a_failure_that_cannot_be_written_down_reads_as_running_and_comes_back(store):
    async def down(*args, **how):
        raise StoreUnavailable("the disk is full")

    clock = Clock()
    worker = worker_of(Wrapped(store, settle=down), Hand(does=raising(ModelUnavailable("gone"))), clock=clock)
    await queue(store, job())
    report = await worker.drain(ignore_schedule=True)
    assert report.outcomes == {JobOutcome.LOST: 1}
    assert report.errors == (f"j1: {worker.name} is still doing it",)
    clock.on(901)
    assert (await worker_of(store, Hand(), clock=clock).drain()).done == 1


async def cancelled(task) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
