"""The worker of one bank."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from recollect.domain.jobs import Job
from recollect.errors import LostLease, ModelError, RecollectError
from recollect.ports import Consolidator, Derive, add_jobs
from recollect.store.commit_retry import derive_changes, retry_until_current
from recollect.store.protocol import Store
from recollect.worker.settings import WorkerSettings, compute_retry_time, find_reply, uses_attempt
from recollect.worker.work_report import JobOutcome, WorkReport, describe_left_jobs

T = TypeVar("T")
Clock = Callable[[], datetime]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _DrainTally:
    """The outcomes of attempts so far, and the reason if no job could be claimed."""

    outcomes: Counter[JobOutcome] = field(default_factory=Counter)
    problem: str | None = None


class Worker:
    """Does the jobs of one bank: claims, consolidates, and commits the result and the end of the job together.

    Several workers may work on one bank, in several processes. Each job is claimed by one of them. The result of a job
    is committed once, whatever happens to the worker, because a job that belongs to another worker by then cannot be
    settled.

    Args:
        store: the bank.
        consolidators: one consolidator for each kind of job.
        clock: returns the current time, aware.
        settings: all constants.
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
        self._leased: dict[str, tuple[Job, datetime]] = {}  # by claim: the job, and when its lease was renewed last
        self._told: str | None = None  # the last problem that was logged

    @property
    def name(self) -> str:
        """Return the name with which it signs its claims."""
        return self._name

    @property
    def automatic(self) -> bool:
        """Return true if it may begin by itself, and has a consolidator for any kind of job."""
        return self._settings.automatic and bool(self._consolidators)

    @property
    def awake(self) -> bool:
        """Return true if it was woken and has not looked for jobs since."""
        return self._awake.is_set()

    def wake(self) -> None:
        """Wake the worker, because there may be something to do."""
        self._awake.set()

    async def drain(self, *, ignore_schedule: bool = False) -> WorkReport:
        """Work until no job is due and none is being done.

        With ``hurry``, also do the jobs that would only be due later. A job that failed and is to be tried again later
        is left waiting, and it is reported. With ``hurry``, some of the jobs that failed before the drain are tried
        once: those whose failure had another cause than the job, such as a limit or a missing model. If the store
        cannot be reached, the report says so.
        """
        tally, began = _DrainTally(), self._clock()
        await self._run_pass(tuple(self._consolidators), tally, failed_before=None)
        while ignore_schedule:
            before = tally.outcomes.total()
            # In the order of the consolidators, so that each kind of job sees all results of the kind before.
            for kind in self._consolidators:
                await self._run_pass((kind,), tally, failed_before=began)
            ignore_schedule = tally.problem is None and tally.outcomes.total() > before
        return WorkReport(outcomes=dict(tally.outcomes), errors=await self._list_errors(tally, began))

    async def run(self) -> None:
        """Do the jobs that are due, and the jobs that are queued meanwhile.

        An interrupted job can be claimed by others at once.
        """
        tally = _DrainTally()
        async with asyncio.TaskGroup() as group:
            while True:
                self._awake.clear()  # before looking: a job that is queued meanwhile wakes it again
                await self._start_jobs(group, tuple(self._consolidators), tally, hurry=None)
                if self._under_way:
                    await self._awake.wait()
                elif not self._awake.is_set():
                    break
        if tally.problem not in (None, self._told):
            _log.warning("the jobs of bank %r cannot be reached: %s", self._store.name, tally.problem)
        self._told = tally.problem

    async def _list_errors(self, tally: _DrainTally, since: datetime) -> tuple[str, ...]:
        """Return the errors that a caller should know of when a drain is over."""
        if tally.problem is not None:
            return (tally.problem,)
        try:
            records = await self._store.jobs()
        except RecollectError as exc:
            return (_describe_error(exc),)
        return describe_left_jobs(records, kinds=self._consolidators.keys(), since=since)

    async def _run_pass(self, kinds: Sequence[str], tally: _DrainTally, *, failed_before: datetime | None) -> None:
        """Do jobs of these kinds until none is left to claim, and no job that may cause others is being done here.

        ``hurry`` is the time at which a hurried drain began, here and in the methods below.
        """
        async with asyncio.TaskGroup() as group:
            while tally.problem is None:
                idle = not self._under_way  # a job that ends during the look may cause jobs that the look misses
                started = await self._start_jobs(group, kinds, tally, hurry=failed_before)
                if idle and not started:
                    return
                if self._under_way:
                    await asyncio.wait(set(self._under_way), return_when=asyncio.FIRST_COMPLETED)

    async def _start_jobs(
        self, group: asyncio.TaskGroup, kinds: Sequence[str], tally: _DrainTally, *, hurry: datetime | None
    ) -> int:
        """Start every job that can be claimed, as slots become free. Return the number of these jobs."""
        started, found = -1, True
        while found:
            started += 1
            looked: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            # The task that does a job also claims it, so that no cancellation can happen between the two.
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
                try:
                    tally.outcomes[await self._attempt(job)] += 1
                finally:
                    del self._leased[job.claim]
        self._awake.set()  # the job may have caused others

    async def _claim(self, kinds: Sequence[str], tally: _DrainTally, *, hurry: datetime | None) -> Job | None:
        """Claim a job for this worker and return it.

        If the task is cancelled while it claims a job, the job goes back at once.
        """
        await self._renew_after_jump()
        now = self._clock()
        claiming = asyncio.create_task(
            self._store.claim(
                kinds,
                self._name,
                now,
                self._settings.lease_s,
                ignore_schedule=hurry is not None,
                failed_before=hurry,
            )
        )
        cancelled = await _wait_for_end(claiming)
        try:
            job = claiming.result()
        except Exception as exc:  # the store could not be reached: the jobs are safe, and the next look may succeed
            tally.problem, job = _describe_error(exc), None
        if cancelled:
            if job is not None:
                await self._put_back(job)
            raise asyncio.CancelledError
        if job is not None:
            self._leased[job.claim] = job, now
        return job

    @contextmanager
    def _count_active(self) -> Iterator[None]:
        """Count a job as under way while it is being claimed or done."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(ended)
        try:
            yield
        finally:
            self._under_way.discard(ended)
            ended.set_result(None)

    async def _attempt(self, job: Job) -> JobOutcome:
        """Do one job. Every failure is recorded with the job, so that a failed job never counts as done."""
        try:
            await self._do_leased(job)
        except LostLease:
            return JobOutcome.LOST
        except asyncio.CancelledError:  # this task was cancelled: the work itself is a task of its own
            await self._put_back(job)
            raise
        except Exception as exc:  # a broken consolidator must not stop the jobs of the others
            if not isinstance(exc, RecollectError | TimeoutError):
                _log.warning(
                    "the job %s of bank %r failed with an unexpected error", job.id, self._store.name, exc_info=exc
                )
            return await self._record_failure(job, exc)
        return JobOutcome.DONE

    async def _do_leased(self, job: Job) -> None:
        """Do a job, and renew its lease meanwhile.

        The work is a task of its own. So a cancellation that a model raises is distinguished from a cancellation of
        this task.

        Raises:
            LostLease: the job no longer belongs to this worker. The work is stopped, and nothing of it is stored.
            ModelError: the work ended with something that is no error, such as a cancellation that nobody asked for.
        """
        derived = await self._run_leased(job, self._consolidate(job), stop_if_lost=True)
        # A commit finds out by itself if the job is lost. If it were stopped, nobody would know whether it was made.
        await self._run_leased(job, self._commit_derived(job, derived), stop_if_lost=False)

    async def _run_leased(self, job: Job, work: Coroutine[Any, Any, T], *, stop_if_lost: bool) -> T:
        running = asyncio.create_task(work)
        lost = False
        try:
            while not running.done():
                await asyncio.wait([running], timeout=None if lost else self._settings.renewal_s)
                if not running.done():
                    lost = not await self._renew_lease(job)
                if lost and stop_if_lost:
                    break
        finally:
            if running.cancel():
                await asyncio.wait([running])
        if lost and running.cancelled():
            raise LostLease(f"the job {job.id!r} was taken from its worker during the work")
        return _get_result(running)

    async def _renew_lease(self, job: Job) -> bool:
        """Renew the lease of a job. Return false if the job no longer belongs to this worker."""
        now = self._clock()
        try:
            await self._store.renew_lease(job, now, self._settings.lease_s)
            if job.claim in self._leased:
                self._leased[job.claim] = job, now
        except LostLease:
            return False
        except Exception as exc:  # the next renewal may succeed, and a commit checks the lease itself
            _log.warning("the lease of the job %s could not be renewed: %s", job.id, exc)
        return True

    async def _renew_after_jump(self) -> None:
        """Renew leases that seem to be over because the clock was set or the machine slept.

        Otherwise this worker would claim the jobs that it is doing, and do them twice.
        """
        now, lease = self._clock(), timedelta(seconds=self._settings.lease_s)
        for job, renewed in list(self._leased.values()):
            if abs(now - renewed) >= lease:
                await self._renew_lease(job)

    async def _commit_derived(self, job: Job, derive: Derive) -> None:
        async def write() -> None:
            derived = await self._call(derive_changes(self._store, derive))
            changes = add_jobs(derived, self._consolidators.values(), self._clock())
            if changes.is_empty:  # a commit would force all other writers to derive again
                await self._store.settle(job, now=self._clock())
            else:
                await self._store.commit(replace(changes, settled_job=job))

        await retry_until_current(self._store, write)

    async def _consolidate(self, job: Job) -> Derive:
        """Return what a consolidator makes of a job."""
        return await self._call(self._consolidators[job.kind].consolidate(job, self._store, self._clock()))

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a part of a job that may call models, such as an embedder.

        Raises:
            TimeoutError: it took longer than ``call_timeout_s``.
        """
        patience = self._settings.call_timeout_s
        try:
            async with asyncio.timeout(patience) as limit:
                return await work
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise TimeoutError(f"the calls of the job took longer than {patience:g} s") from exc

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
        if problem is not None:  # the job belongs to another worker, or its lease runs out by itself
            _log.warning("the failure of the job %s could not be recorded: %s", job.id, problem)
            return JobOutcome.LOST
        return JobOutcome.DEAD if later is None else JobOutcome.DELAYED

    async def _put_back(self, job: Job) -> None:
        """Release a job for other workers. If that fails, the job's lease runs out by itself."""
        now = self._clock()
        settling = asyncio.create_task(
            self._store.settle(job, error="the job was interrupted", retry_at=now, counted=False, now=now)
        )
        await _wait_for_end(settling)
        if not isinstance(settling.exception(), LostLease | None):
            _log.warning("the job %s could not be put back: %s", job.id, settling.exception())


def _get_result(ended: asyncio.Task[T]) -> T:
    """Return the result of a task that nobody cancelled from outside.

    Raises:
        ModelError: the task ended with a cancellation, or with another exception that is no error.
    """
    problem = asyncio.CancelledError() if ended.cancelled() else ended.exception()
    if problem is None or isinstance(problem, Exception):
        return ended.result()
    raise ModelError(f"the work ended with a {type(problem).__name__}, although nobody had stopped it") from problem


async def _wait_for_end(work: asyncio.Future[Any]) -> bool:
    """Wait until a write has ended. Return true if this task was cancelled meanwhile.

    The write goes on in its thread, whether this task is cancelled or not.
    """
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
