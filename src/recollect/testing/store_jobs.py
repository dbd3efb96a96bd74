"""The part of the stores' contract about jobs and about their costs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.usage import Cost, LedgerEntry, Usage
from recollect.errors import InvalidInput, LostLease, StaleWrite
from recollect.store.protocol import ForgetSelection, Store
from recollect.testing.store_material import NOW, changes_of, message

MERGE = Job(id="j1", kind="merge", payload="{}")
SOON, LATER = NOW + timedelta(seconds=30), NOW + timedelta(hours=1)
LEASE_S = 60


async def queued(store: Store, *jobs: Job) -> None:
    await store.commit(Changeset(jobs=jobs))


async def claimed(store: Store, worker: str = "w1", at: float = 0, *, hurry: bool = False) -> Job | None:
    """Return the job that a worker gets ``at`` seconds later."""
    return await store.claim(["merge"], worker, NOW + timedelta(seconds=at), LEASE_S, ignore_schedule=hurry)


async def running(store: Store, worker: str = "w1", at: float = 0) -> Job:
    job = await claimed(store, worker, at)
    assert job is not None
    return job


class JobsContract:
    """The contract of jobs and of the ledger."""

    async def test_a_job_is_claimed_once_and_again_when_its_lease_is_over(self, store: Store) -> None:
        await queued(store, MERGE)
        await queued(store, MERGE)
        assert await store.claim(["other"], "w1", NOW, LEASE_S) is None
        job = await running(store)
        assert replace(job, claim="") == replace(MERGE, attempts=1)
        assert await claimed(store, "w2", LEASE_S - 1) is None
        again = await running(store, "w2", LEASE_S + 1)
        assert again.attempts == 2
        await store.settle(again, now=NOW)
        assert await store.jobs() == []
        assert await claimed(store, at=9e6) is None

    async def test_jobs_come_in_the_order_in_which_they_are_due(self, store: Store) -> None:
        jobs = [replace(MERGE, id=f"j{n}", due=NOW + timedelta(seconds=-n)) for n in range(3)]
        await queued(store, replace(MERGE, id="first"), replace(MERGE, id="later", due=LATER), *jobs)
        assert [record.id for record in await store.jobs()] == ["first", "j2", "j1", "j0", "later"]
        for id_ in ("first", "j2", "j1", "j0"):
            job = await running(store)
            assert job.id == id_
            await store.settle(job, now=NOW)
        assert await claimed(store, at=3599) is None
        assert (await running(store, at=3600)).due == LATER

    async def test_a_burst_costs_one_run_when_it_is_over(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1)]))
        await queued(store, replace(MERGE, payload="old", messages=("m1",), due=SOON))
        await queued(store, replace(MERGE, payload="new", messages=("m0",), due=SOON + timedelta(seconds=60)))
        await queued(store, replace(MERGE, payload="new", due=SOON))
        assert await claimed(store, at=89) is None
        job = await running(store, at=91)
        assert (job.payload, job.messages, job.due) == ("new", ("m0", "m1"), SOON + timedelta(seconds=60))
        await store.settle(job, now=LATER)
        assert await store.jobs() == []

    async def test_what_is_for_at_once_is_not_put_off_by_what_comes_after(self, store: Store) -> None:
        for due in (LATER, None, LATER):
            await queued(store, replace(MERGE, due=due))
        assert (await running(store)).id == MERGE.id

    async def test_what_has_failed_is_not_tried_sooner_for_being_queued_for_at_once(self, store: Store) -> None:
        await queued(store, MERGE)
        await store.settle(await running(store), error="x: y", retry_at=LATER, now=NOW)
        await queued(store, replace(MERGE, due=None))
        (record,) = await store.jobs()
        assert record.due == LATER

    async def test_a_burst_that_does_not_end_puts_a_job_off_for_ten_minutes(self, store: Store) -> None:
        async def due_after(seconds: float) -> float:
            await queued(store, replace(MERGE, due=NOW + timedelta(seconds=seconds)))
            (record,) = await store.jobs()
            assert record.due is not None
            return (record.due - NOW).total_seconds()

        assert [await due_after(n) for n in (30, 600, 629, 700, 9_000, 20)] == [30, 600, 629, 630, 630, 630]
        job = await running(store, at=630)
        # Additions to a running job are for its next run, which can be delayed as well.
        assert [await due_after(n) for n in (660, 1_500)] == [660, 1_260]
        await store.settle(job, now=LATER)
        assert await due_after(1_500) == 1_260
        job = await running(store, at=1_260)
        await store.settle(job, error="busy", retry_at=LATER, now=NOW)
        assert await due_after(20) == 3_600, "nor is what failed tried sooner"
        assert await due_after(9_000) == 3_600

    async def test_what_is_queued_while_it_runs_runs_once_more(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1), message(2)]))
        await queued(store, replace(MERGE, messages=("m0", "m1")))
        first = await running(store)
        await queued(store, replace(MERGE, payload="more", messages=("m1", "m2"), due=SOON))
        assert await claimed(store, "w2", 31) is None, "it is running still"
        await store.settle(first, now=NOW)
        assert await claimed(store, "w2", 29) is None
        second = await running(store, "w2", 31)
        assert (second.payload, second.messages, second.attempts) == ("more", ("m1", "m2"), 1)
        await store.settle(second, now=NOW)
        assert await store.jobs() == []

    async def test_what_is_queued_while_a_run_fails_or_dies_is_not_lost(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1)]))
        for retry_at in (None, SOON):
            await queued(store, replace(MERGE, messages=("m0",)))
            first = await running(store)
            await queued(store, replace(MERGE, messages=("m1",)))
            await store.settle(first, error="broken", retry_at=retry_at, now=NOW)
            (record,) = await store.jobs()
            assert (record.state, record.error, record.messages) == (JobState.WAITING, "broken", ("m0", "m1"))
            await store.settle(await running(store, at=31), now=NOW)
            assert await store.jobs() == []
        await queued(store, MERGE)
        await running(store)
        await queued(store, replace(MERGE, payload="more"))
        vanished = await running(store, "w2", LEASE_S + 1)
        assert vanished.payload == "more"
        await store.settle(vanished, now=NOW)
        assert await store.jobs() == []

    async def test_a_job_that_is_done_or_dead_is_queued_anew(self, store: Store) -> None:
        await queued(store, MERGE)
        await store.settle(await running(store), now=NOW)
        await queued(store, MERGE)
        await store.settle(await running(store), error="broken", now=NOW)
        await queued(store, replace(MERGE, due=SOON))
        assert [(record.error, record.failed) for record in await store.jobs()] == [(None, None)]
        assert await claimed(store) is None
        assert (await running(store, at=31)).attempts == 1

    async def test_a_job_that_fails_waits_with_its_error_or_is_dead(self, store: Store) -> None:
        await queued(store, MERGE)
        await store.settle(await running(store), error="busy", retry_at=SOON, now=NOW)
        waiting = JobRecord(
            id="j1",
            kind="merge",
            state=JobState.WAITING,
            attempts=1,
            error="busy",
            reply=None,
            failed=NOW,
            due=SOON,
            worker=None,
            messages=(),
        )
        assert await store.jobs() == [waiting]
        assert await claimed(store) is None
        job = await running(store, at=31)
        assert [(r.state, r.worker, r.error) for r in await store.jobs()] == [(JobState.RUNNING, "w1", "busy")]
        await store.settle(job, error="no JSON", reply="{oops", now=SOON)
        dead = replace(waiting, state=JobState.DEAD, attempts=2, error="no JSON", reply="{oops", failed=SOON)
        assert await store.jobs([JobState.DEAD]) == await store.jobs() == [dead]
        assert await store.jobs([JobState.WAITING, JobState.RUNNING]) == []
        assert await claimed(store, at=9e6) is None

    async def test_what_jobs_are_put_off_for_is_told_once_a_kind_until_they_are_due(self, store: Store) -> None:
        errors = ["Limit: 5: spent", "Limit: 6: spent", "Gone: Limit: 7", "cut short", "Limit", "No: model"]
        waits = [60, 30, 30, 30, 30, 90]
        await queued(store, *(replace(MERGE, id=f"j{n}") for n in range(len(errors) + 3)))
        for error, seconds in zip(errors, waits, strict=True):
            retry_at = NOW + timedelta(seconds=seconds)
            await store.settle(await running(store), error=error, retry_at=retry_at, now=NOW)
        await store.settle(await running(store), error="Limit: dead", now=NOW)
        await running(store)

        async def told(after: float, *kinds: str) -> list[str]:
            return await store.blocked_reasons(kinds, NOW + timedelta(seconds=after))

        assert await told(0, "No", "Limit") == ["Limit: 6: spent", "No: model"]
        assert await told(30, "No", "Limit") == ["Limit: 5: spent", "No: model"]
        assert await told(60, "No", "Limit", "Nothing") == ["No: model"]
        assert await told(0) == await told(90, "No", "Limit") == []
        assert (await running(store)).id == "j8", "the one that has not failed is due first"
        while (again := await claimed(store, at=31)) is not None and again.id != "j1":
            pass
        assert await told(0, "Limit") == ["Limit: 5: spent"], "one that runs waits for nothing"

    async def test_an_attempt_that_does_not_count(self, store: Store) -> None:
        await queued(store, MERGE)
        await store.settle(await running(store), error="no tokens left", retry_at=SOON, counted=False, now=NOW)
        assert (await running(store, at=31)).attempts == 1

    async def test_a_hurry_does_not_wait_but_for_what_failed(self, store: Store) -> None:
        await queued(store, replace(MERGE, due=LATER))
        assert await claimed(store) is None
        job = await claimed(store, hurry=True)
        assert job is not None
        await store.settle(job, error="busy", retry_at=SOON, counted=False, now=NOW)
        assert await claimed(store, hurry=True) is None
        assert await claimed(store, at=3601, hurry=True) is not None

    async def test_a_hurry_is_for_what_failed_before_and_used_up_no_attempt(self, store: Store) -> None:
        async def found(before: float, *, hurry: bool = True) -> Job | None:
            moment = NOW + timedelta(seconds=before)
            return await store.claim(["merge"], "w1", NOW, LEASE_S, ignore_schedule=hurry, failed_before=moment)

        await queued(store, MERGE)
        await store.settle(await running(store), error="no tokens", retry_at=LATER, counted=False, now=NOW)
        assert await found(0) is None
        assert await found(1, hurry=False) is None
        job = await found(1)
        assert job is not None
        assert (job.attempts, job.failures) == (1, 1)
        await store.settle(job, error="no JSON", retry_at=LATER, now=NOW)
        assert await found(1) is None, "its own fault"

    async def test_a_worker_that_is_late_settles_nothing(self, store: Store) -> None:
        await queued(store, MERGE)
        late = await running(store)
        current = await running(store, "w2", LEASE_S + 1)
        for error in (None, "too late"):
            with pytest.raises(LostLease, match="j1"):
                await store.settle(late, error=error, now=NOW)
            with pytest.raises(LostLease):
                await store.commit(changes_of([message(0)], settled_job=late))
        assert await store.messages() == []
        await store.settle(current, now=NOW)
        await queued(store, MERGE)
        await running(store, "w3")
        for stale in (late, current):  # they have the same id, but belong to earlier runs
            with pytest.raises(LostLease):
                await store.settle(stale, now=NOW)
        (record,) = await store.jobs()
        assert record.worker == "w3"

    async def test_a_lease_that_is_over_is_good_until_somebody_else_has_it(self, store: Store) -> None:
        await queued(store, MERGE)
        job = await running(store)
        await store.settle(job, now=NOW + timedelta(seconds=9 * LEASE_S))
        assert await store.jobs() == []

    async def test_a_lease_that_is_renewed_ends_later(self, store: Store) -> None:
        await queued(store, MERGE)
        job = await running(store)
        version = (await store.look_up([], [])).version
        await store.renew_lease(job, NOW + timedelta(seconds=20), LEASE_S)
        assert (await store.look_up([], [])).version == version, "others would have to derive again"
        assert await claimed(store, "w2", LEASE_S + 19) is None
        again = await running(store, "w2", LEASE_S + 21)
        with pytest.raises(LostLease):
            await store.renew_lease(job, NOW + timedelta(seconds=LEASE_S + 22), LEASE_S)
        assert await claimed(store, "w3", 2 * LEASE_S + 20) is None, "a lost lease was not renewed"
        await store.settle(again, now=NOW)
        with pytest.raises(LostLease):
            await store.renew_lease(again, NOW, LEASE_S)

    async def test_a_lease_ends_if_the_clock_is_set_back_by_more_than_the_lease(self, store: Store) -> None:
        await queued(store, MERGE)
        job = await running(store)
        assert await claimed(store, "w2", -LEASE_S) is None
        again = await running(store, "w2", -LEASE_S - 1)
        assert (again.id, again.attempts) == (job.id, 2)
        with pytest.raises(LostLease):
            await store.settle(job, now=NOW)

    async def test_a_job_whose_worker_vanishes_each_time_is_given_up(self, store: Store) -> None:
        await queued(store, MERGE)
        tries = 0
        while await claimed(store, at=tries * (LEASE_S + 1)) is not None:
            tries += 1
            assert tries < 50
        (record,) = await store.jobs()
        assert (record.state, record.attempts) == (JobState.DEAD, tries)
        assert "vanished" in (record.error or "")
        assert tries > 1

    async def test_a_job_is_settled_together_with_what_came_of_it(self, store: Store) -> None:
        seen = (await store.look_up([], [])).version
        await queued(store, MERGE)
        job = await running(store)
        with pytest.raises(StaleWrite):
            await store.commit(changes_of([message(0)], settled_job=job, expected_version=seen))
        assert [record.state for record in await store.jobs()] == [JobState.RUNNING]
        follow_up = replace(MERGE, id="j2")
        await store.commit(changes_of([message(0)], settled_job=job, jobs=(follow_up,)))
        assert [(record.id, record.state) for record in await store.jobs()] == [("j2", JobState.WAITING)]
        assert len(await store.messages()) == 1

    async def test_a_dead_job_is_tried_again_or_dropped_by_hand(self, store: Store) -> None:
        await queued(store, MERGE, replace(MERGE, id="j2"))
        for _ in range(2):
            await store.settle(await running(store), error="broken", now=NOW)
        await store.retry_job("j1")
        await store.drop_job("j2")
        assert [(record.id, record.state) for record in await store.jobs()] == [("j1", JobState.WAITING)]
        job = await running(store)
        assert job.attempts == 1
        for act in (store.retry_job, store.drop_job):
            with pytest.raises(InvalidInput, match="nothing"):
                await act("nothing")
        await store.drop_job("j1")
        with pytest.raises(LostLease):
            await store.commit(changes_of([message(0)], settled_job=job))

    async def test_a_job_that_failed_or_runs_is_tried_again_by_hand_as_if_it_were_new(self, store: Store) -> None:
        await store.commit(changes_of([message(0), message(1)]))
        await queued(store, replace(MERGE, messages=("m0",), due=SOON))
        with pytest.raises(InvalidInput, match="j1"):
            await store.retry_job("j1")  # it has not failed: it waits for its time
        job = await running(store, at=31)
        await store.settle(job, error="busy", reply="{", retry_at=LATER, now=SOON)
        await store.retry_job("j1")
        (record,) = await store.jobs()
        assert (record.state, record.attempts, record.due) == (JobState.WAITING, 0, None)
        assert (record.error, record.reply, record.failed) == (None, None, None)
        taken = await running(store)
        assert taken.failures == 0
        await queued(store, replace(MERGE, messages=("m1",)))
        await store.retry_job("j1")  # its worker is gone
        with pytest.raises(LostLease):
            await store.settle(taken, now=NOW)
        again = await running(store, "w2")
        assert (again.messages, again.attempts) == (("m0", "m1"), 1)
        await store.settle(again, now=NOW)
        assert await store.jobs() == []

    async def test_jobs_name_messages_that_are_there(self, store: Store) -> None:
        about = replace(MERGE, messages=("m1", "m0"))
        with pytest.raises(InvalidInput, match=r"m0|m1"):
            await queued(store, about)
        await store.commit(changes_of([message(0), message(1)], jobs=(about,)))
        (record,) = await store.jobs()
        assert record.messages == ("m0", "m1")

    async def test_the_ledger_adds_up_and_outlives_what_is_forgotten(self, store: Store) -> None:
        assert await store.spent() == Usage()
        assert await store.costs() == []
        cost = Usage(calls=1, tokens_in=100, tokens_out=10, tokens_cached=50, seconds=0.5)
        entry = LedgerEntry(at=NOW, operation="merge", role="writer", model="m-1", usage=cost)
        judged = replace(entry, role="judge", at=LATER)
        await store.commit(changes_of([message(0)]))
        version = (await store.look_up([], [])).version
        await store.record([entry, replace(entry, failed=True), judged])
        await store.record([replace(judged, operation="ask", model="m-2")])
        await store.record([])
        assert (await store.look_up([], [])).version == version, "what it costs changes nothing that is remembered"
        await store.forget(ForgetSelection(messages=("m0",)))
        assert await store.spent() == cost + cost + cost + cost
        assert await store.spent(role="writer") == await store.spent(role="judge") == cost + cost
        assert await store.spent(since=SOON) == await store.spent(role="judge", since=LATER) == cost + cost
        assert await store.spent(role="writer", since=SOON) == Usage()
        assert await store.costs() == [
            Cost(operation="ask", role="judge", model="m-2", usage=cost, failed=0),
            Cost(operation="merge", role="judge", model="m-1", usage=cost, failed=0),
            Cost(operation="merge", role="writer", model="m-1", usage=cost + cost, failed=1),
        ]
