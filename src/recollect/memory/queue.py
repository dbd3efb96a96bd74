"""The background work of one bank, as its user sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from recollect.domain.changes import Changeset
from recollect.domain.checks import require_member, require_text
from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.usage import Cost
from recollect.errors import DeadlineExceeded, NoModel, RecollectError
from recollect.memory.base import BankBase
from recollect.memory.deadline import Deadline
from recollect.ports import Consolidator, add_jobs
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import StoreReader

Jobs = tuple[Job, ...]


class BankJobs(BankBase):
    """The jobs of a bank, the worker that does them, and the cost of all model calls."""

    def resume_work(self) -> None:
        """Continue the background work that an earlier process did not finish."""
        if self._work is not None and self._consolidators:
            self._work.wake()

    async def run_jobs(self) -> tuple[str, ...]:
        """Do all waiting background jobs now. Return one line for each job that failed.

        Raises:
            NoModel: no language model is configured.
        """
        if self._work is None:
            raise NoModel("no language model is configured, so nothing can be done in the background")
        return await self._work.drain()

    async def stop_jobs(self) -> None:
        """Stop background work. Unfinished jobs continue the next time."""
        if self._work is not None:
            await self._work.close()

    async def close(self) -> None:
        """Stop background work, and release the files that the bank has open. The next call opens them again.

        A bank that is in use stays open. You do not have to close banks. If many banks are open, a memory closes the
        ones used longest ago. It closes all banks when it is closed itself.
        """
        await self.stop_jobs()
        await self._store.release()

    async def jobs(self, *states: JobState | str) -> list[JobRecord]:
        """Return the jobs in some states, the earliest due first. Without states, return those that wait, run or have
        failed.

        Raises:
            InvalidInput: there is no such state.
        """
        return await self._store.jobs(tuple(require_member("state", JobState, state) for state in states))

    async def retry_job(self, job: str) -> None:
        """Try a job again at once, as if it were new. It must be dead, or wait after a failure, or run.

        A running job is taken from its worker, for example from a worker that was killed. A later result of that worker
        is not stored.

        Raises:
            InvalidInput: there is no such job, or it waits and has not failed.
        """
        await self._store.retry_job(require_text("job", job))
        if self._work is not None:
            self._work.wake()

    async def drop_job(self, job: str) -> None:
        """Remove a job from the queue.

        Raises:
            InvalidInput: there is no such job.
        """
        await self._store.drop_job(require_text("job", job))

    async def costs(self) -> list[Cost]:
        """Return the costs of the bank's model calls, by operation, role and model."""
        return await self._store.costs()

    async def _start_jobs(self, changes: Changeset, wait: bool, deadline: Deadline) -> tuple[str, ...]:
        """Start the jobs that the changes cause. Return notes for the caller."""
        if self._work is None:
            return ("jobs wait: no language model is configured",) if changes.jobs else ()
        if wait:
            try:
                return await deadline.wait_for(self._work.drain(), outcome="the messages are stored")
            except DeadlineExceeded as exc:
                self._work.wake()
                return (f"background work continues after the call: {exc}",)
        if not changes.jobs:
            return ()
        self._work.wake()
        try:
            return await self._work.blocked_reasons()
        except RecollectError as exc:  # the messages are stored, and an error would say the opposite
            return (f"it is not known if jobs wait: {exc}",)


async def make_remake_jobs(
    plan: ForgetPlan, remade: Changeset, store: StoreReader, consolidators: Sequence[Consolidator], now: datetime
) -> Jobs:
    """Return the jobs that derive again what forgetting removes, as if the remaining sources were new.

    Items that stay, and new extracts of segments in ``remade``, cause jobs as new items do. A model may replace an
    extract by a better one. A job about a single item that stays is left out unless an opinion loses a step. Without
    this rule, an opinion could change although the agent has learnt nothing new.
    """
    mentions = await store.mentions_of(entry.item.id for entry in plan.origins)
    extracts = (entry for entry in remade.items if entry.item.kind is ItemKind.SUMMARY)
    left = Changeset(messages=plan.to_reread, items=(*plan.origins, *extracts), mentions=tuple(mentions))
    known = {entry.item.id for entry in plan.origins} - plan.used_in
    return tuple(job for job in add_jobs(left, consolidators, now).jobs if job.payload not in known)


async def make_backfill_jobs(
    changes: Changeset, store: StoreReader, consolidators: Sequence[Consolidator], now: datetime
) -> tuple[Changeset, int]:
    """Return the changes with the jobs for all unread messages, and the number of the messages of these jobs.

    ``changes`` are the changes by which the encoder has caught up. The jobs are added to them.
    """
    jobs = add_jobs(replace(changes, messages=tuple(await store.find_unread())), consolidators, now).jobs
    return replace(changes, jobs=jobs), len({message for job in jobs for message in job.messages})
