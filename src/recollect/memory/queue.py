"""The background work of one bank, as its user sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from recollect.domain.changes import Changeset
from recollect.domain.items import ItemKind
from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.usage import Cost
from recollect.errors import NoModel, RecollectError
from recollect.memory.contents import BankContents
from recollect.memory.query_options import parse_member
from recollect.memory.services import JobRunner
from recollect.ports import Consolidator, add_jobs
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import Store, StoreReader

Jobs = tuple[Job, ...]


class BankJobs(BankContents):
    """A bank's jobs, who does them, and what that has cost."""

    def __init__(self, store: Store, work: JobRunner | None) -> None:
        super().__init__(store)
        self._work = work

    async def run_jobs(self) -> tuple[str, ...]:
        """Do everything that waits in the background now; gives what went wrong, a line a job.

        Raises:
            NoModel: no language model is configured.
        """
        if self._work is None:
            raise NoModel("no language model is configured, so nothing can be done in the background")
        return await self._work.drain()

    async def stop_jobs(self) -> None:
        """Stop background work; what is unfinished waits for the next time."""
        if self._work is not None:
            await self._work.close()

    async def close(self) -> None:
        """Stop background work, and give back what the bank holds open; the next call takes it up again.

        A bank that is in use stays open. Nothing has to be closed: a memory closes the banks used longest ago by itself
        when many are open, and all of them when it is closed.
        """
        await self.stop_jobs()
        await self._store.release()

    async def jobs(self, *states: JobState | str) -> list[JobRecord]:
        """The jobs that wait, run or have failed, or those in some of these states; what is due first first.

        Raises:
            InvalidInput: there is no such state.
        """
        return await self._store.jobs(tuple(parse_member(JobState, state) for state in states))

    async def retry_job(self, job: str) -> None:
        """Let a job that was put aside, or has failed and waits, be tried again at once, as if it were new.

        A job that runs is taken from its worker, such as one that was killed; what still comes of it is not kept.

        Raises:
            InvalidInput: there is no such job, or it waits and has not failed.
        """
        await self._store.retry_job(job)
        if self._work is not None:
            self._work.wake()

    async def drop_job(self, job: str) -> None:
        """Take a job off the queue.

        Raises:
            InvalidInput: there is no such job.
        """
        await self._store.drop_job(job)

    async def costs(self) -> list[Cost]:
        """What the bank's model calls have cost, by operation, role and model."""
        return await self._store.costs()

    async def _start_jobs(self, changes: Changeset, wait: bool) -> tuple[str, ...]:
        """Have done what the changes cause; gives what a caller should know about it."""
        if self._work is None:
            return ("jobs wait: no language model is configured",) if changes.jobs else ()
        if wait:
            return await self._work.drain()
        if not changes.jobs:
            return ()
        self._work.wake()
        try:
            return await self._work.blocked_reasons()
        except RecollectError as exc:  # the messages are kept, and an error would say that they are not
            return (f"whether jobs wait could not be found out: {exc}",)


async def make_remake_jobs(
    plan: ForgetPlan, remade: Changeset, store: StoreReader, consolidators: Sequence[Consolidator], now: datetime
) -> Jobs:
    """The jobs by which a recipe makes anew what is torn: what stays is to it as if it were new.

    Of what was ``remade`` with it, a segment's extract is as good as a new one: a model may put a better in its place.
    A job about a single item is left out where no opinion loses a step by it: nobody is to think otherwise because
    something that he knew all along was put together anew.
    """
    mentions = await store.mentions_of(entry.item.id for entry in plan.origins)
    extracts = (entry for entry in remade.items if entry.item.kind is ItemKind.SUMMARY)
    left = Changeset(messages=plan.to_reread, items=(*plan.origins, *extracts), mentions=tuple(mentions))
    known = {entry.item.id for entry in plan.origins} - plan.used_in
    return tuple(job for job in add_jobs(left, consolidators, now).jobs if job.payload not in known)


async def make_backfill_jobs(
    changes: Changeset, store: StoreReader, consolidators: Sequence[Consolidator], now: datetime
) -> tuple[Changeset, int]:
    """The jobs by which a recipe reads what has not been read, and how many messages these are about.

    They are added to the changes by which the encoder has ``changes``.
    """
    jobs = add_jobs(replace(changes, messages=tuple(await store.find_unread())), consolidators, now).jobs
    return replace(changes, jobs=jobs), len({message for job in jobs for message in job.messages})
