"""The worker of one bank."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from recollect.domain.jobs import Job
from recollect.errors import LostLease, RecollectError
from recollect.ports import Consolidator, Derive, add_jobs
from recollect.store.commit_retry import derive_changes, retry_until_current
from recollect.store.protocol import Store
from recollect.worker.settings import WorkerSettings, compute_retry_time, find_reply, uses_attempt
from recollect.worker.work_report import JobOutcome, WorkReport, describe_left_jobs

Clock = Callable[[], datetime]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _DrainTally:
    """What came of attempts so far, and why no job could be claimed, if that is so."""

    outcomes: Counter[JobOutcome] = field(default_factory=Counter)
    problem: str | None = None


class Worker:
    """Does the jobs of one bank: claim, consolidate, commit together with the mark that the job is done.

    Several may work on one bank, in several processes: a job is claimed by one of them. What comes of a job is
    committed once, whatever happens to the worker: a job that is somebody else's by then cannot be settled.

    Args:
        store: the bank.
        consolidators: one for each kind of job.
        clock: gives the aware present.
        settings: every constant.
    """

    def __init__(
        self,
        store: Store,
        consolidators: Sequence[Consolidator],
        *,
        clock: Clock,
        settings: WorkerSettings | None = None,
    ) -> None:
        self._store, self._clock = store, clock
        self._consolidators = {one.kind: one for one in consolidators}
        self._settings = settings or WorkerSettings()
        self._name = f"worker-{secrets.token_hex(4)}"
        self._awake = asyncio.Event()
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        self._under_way: set[asyncio.Future[None]] = set()
        self._told: str | None = None  # why jobs were out of reach, when that was last said

    @property
    def name(self) -> str:
        """What its claims are signed with."""
        return self._name

    @property
    def automatic(self) -> bool:
        """Whether it may begin by itself, and has anything to do."""
        return self._settings.automatic and bool(self._consolidators)

    @property
    def awake(self) -> bool:
        """Whether it was told that there may be something to do, and has not looked since."""
        return self._awake.is_set()

    def wake(self) -> None:
        """Say that there may be something to do."""
        self._awake.set()

    async def drain(self, *, ignore_schedule: bool = False) -> WorkReport:
        """Work until nothing is due and nothing is under way; in a ``ignore_schedule``, also do what would only be due
        later.

        What failed and is to be tried again later is left waiting, and reported. In a hurry, what failed before that of
        something else than itself, of a limit or of a model that was not there, is tried once. Where the store is out
        of reach, the report says so.
        """
        tally, began = _DrainTally(), self._clock()
        await self._run_pass(tuple(self._consolidators), tally, failed_before=None)
        while ignore_schedule:
            before = tally.outcomes.total()
            # In the order of the consolidators: what one kind of job makes, the next then sees whole.
            for kind in self._consolidators:
                await self._run_pass((kind,), tally, failed_before=began)
            ignore_schedule = tally.problem is None and tally.outcomes.total() > before
        return WorkReport(outcomes=dict(tally.outcomes), errors=await self._list_errors(tally, began))

    async def run(self) -> None:
        """Do what is due, and what is queued meanwhile. A job that is cut short is free for others at once."""
        tally = _DrainTally()
        async with asyncio.TaskGroup() as group:
            while True:
                self._awake.clear()  # before looking: what is queued while it looks wakes it again
                await self._start_jobs(group, tuple(self._consolidators), tally, hurry=None)
                if self._under_way:
                    await self._awake.wait()
                elif not self._awake.is_set():
                    break
        if tally.problem not in (None, self._told):
            _log.warning("the jobs of bank %r are out of reach: %s", self._store.name, tally.problem)
        self._told = tally.problem

    async def _list_errors(self, tally: _DrainTally, since: datetime) -> tuple[str, ...]:
        """What a caller should know when a drain is over."""
        if tally.problem is not None:
            return (tally.problem,)
        try:
            records = await self._store.jobs()
        except RecollectError as exc:
            return (_describe_error(exc),)
        return describe_left_jobs(records, kinds=self._consolidators.keys(), since=since)

    async def _run_pass(self, kinds: Sequence[str], tally: _DrainTally, *, failed_before: datetime | None) -> None:
        """Jobs of these kinds until none is left to claim, and nothing that may cause more is being done here.

        ``failed_before`` is when somebody began to be in a hurry; here and below.
        """
        async with asyncio.TaskGroup() as group:
            while tally.problem is None:
                idle = not self._under_way  # what ends while somebody looks may have caused what the look has missed
                started = await self._start_jobs(group, kinds, tally, hurry=failed_before)
                if idle and not started:
                    return
                if self._under_way:
                    await asyncio.wait(set(self._under_way), return_when=asyncio.FIRST_COMPLETED)

    async def _start_jobs(
        self, group: asyncio.TaskGroup, kinds: Sequence[str], tally: _DrainTally, *, hurry: datetime | None
    ) -> int:
        """Start on every job that can be claimed, as slots become free; gives how many these were."""
        started, found = -1, True
        while found:
            started += 1
            looked: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            # The task that does a job also claims it: no cancellation can fall between the two.
            group.create_task(self._claim_and_do(kinds, tally, looked, hurry=hurry))
            found = await looked
        return started

    async def _claim_and_do(
        self, kinds: Sequence[str], tally: _DrainTally, looked: asyncio.Future[bool], *, hurry: datetime | None
    ) -> None:
        async with self._slots:
            with self._count_active():
                job = await self._claim(kinds, tally, hurry=hurry)
                if not looked.done():
                    looked.set_result(job is not None)
                if job is None:
                    return
                tally.outcomes[await self._attempt(job)] += 1
        self._awake.set()  # it may have caused others

    async def _claim(self, kinds: Sequence[str], tally: _DrainTally, *, hurry: datetime | None) -> Job | None:
        """A job that is this worker's now; one that is claimed while we are cancelled goes back at once."""
        claiming = asyncio.create_task(
            self._store.claim(
                kinds,
                self._name,
                self._clock(),
                self._settings.lease_s,
                ignore_schedule=hurry is not None,
                failed_before=hurry,
            )
        )
        cancelled = await _wait_for_end(claiming)
        try:
            job = claiming.result()
        except Exception as exc:  # the store was out of reach: the jobs are in it, the next look may find it
            tally.problem, job = _describe_error(exc), None
        if cancelled:
            if job is not None:
                await self._put_back(job)
            raise asyncio.CancelledError
        return job

    @contextmanager
    def _count_active(self) -> Iterator[None]:
        """While a job is being claimed or done, something is under way."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(ended)
        try:
            yield
        finally:
            self._under_way.discard(ended)
            ended.set_result(None)

    async def _attempt(self, job: Job) -> JobOutcome:
        """Do one job. Whatever goes wrong is written to the job: it never reads as done."""
        try:
            await self._do(job)
        except LostLease:
            return JobOutcome.LOST
        except asyncio.CancelledError:
            await self._put_back(job)
            raise
        except Exception as exc:  # a broken consolidator must not take the others' jobs down
            if not isinstance(exc, RecollectError | TimeoutError):
                _log.warning("%s of bank %r broke", job.id, self._store.name, exc_info=exc)
            return await self._record_failure(job, exc)
        return JobOutcome.DONE

    async def _do(self, job: Job) -> None:
        derive = await self._consolidate(job)

        async def write() -> None:
            changes = add_jobs(await derive_changes(self._store, derive), self._consolidators.values(), self._clock())
            if changes.is_empty:  # a commit would make everybody else derive anew
                await self._store.settle(job, now=self._clock())
            else:
                await self._store.commit(replace(changes, settled_job=job))

        await retry_until_current(self._store, write)

    async def _consolidate(self, job: Job) -> Derive:
        """What a consolidator makes of a job, within the job's lease.

        Raises:
            TimeoutError: it took longer.
        """
        consolidator, patience = self._consolidators[job.kind], self._settings.call_timeout_s
        try:
            async with asyncio.timeout(patience) as limit:
                return await consolidator.consolidate(job, self._store, self._clock())
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise TimeoutError(f"its calls took longer than {patience:g} s, nine tenths of its lease") from exc

    async def _record_failure(self, job: Job, error: Exception) -> JobOutcome:
        now = self._clock()
        later = compute_retry_time(job, error, now, self._settings)
        settling = asyncio.create_task(
            self._store.settle(
                job,
                error=_describe_error(error),
                reply=find_reply(error),
                retry_at=later,
                counted=uses_attempt(error),
                now=now,
            )
        )
        cancelled = await _wait_for_end(settling)
        problem = settling.exception()
        if cancelled:
            raise asyncio.CancelledError
        if problem is not None:  # the job is not ours, or its lease runs out by itself
            _log.warning("the failure of %s could not be written down: %s", job.id, problem)
            return JobOutcome.LOST
        return JobOutcome.DEAD if later is None else JobOutcome.DELAYED

    async def _put_back(self, job: Job) -> None:
        """Free a job for others; if that fails, its lease runs out by itself."""
        now = self._clock()
        settling = asyncio.create_task(self._store.settle(job, error="cut short", retry_at=now, counted=False, now=now))
        await _wait_for_end(settling)
        if not isinstance(settling.exception(), LostLease | None):
            _log.warning("%s could not be put back: %s", job.id, settling.exception())


async def _wait_for_end(work: asyncio.Future[Any]) -> bool:
    """Wait for the end of a write, which goes on in its thread whether we are cancelled or not; whether we were."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
