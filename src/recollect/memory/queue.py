"""The background work of one bank, as its user sees it."""

from __future__ import annotations

from recollect.domain.jobs import JobRecord, JobState
from recollect.domain.usage import Cost
from recollect.errors import NoModel
from recollect.memory.asking import one_of
from recollect.memory.staff import Work
from recollect.store.protocol import Store


class Queue:
    """A bank's jobs, who does them, and what that has cost."""

    def __init__(self, store: Store, work: Work | None) -> None:
        self._store, self._work = store, work

    async def work(self) -> tuple[str, ...]:
        """Do everything that waits in the background now; gives what went wrong, a line a job.

        Raises:
            NoModel: no language model is configured.
        """
        if self._work is None:
            raise NoModel("no language model is configured, so nothing can be done in the background")
        return await self._work.drain()

    async def rest(self) -> None:
        """Stop background work; what is unfinished waits for the next time."""
        if self._work is not None:
            await self._work.close()

    async def jobs(self, *states: JobState | str) -> list[JobRecord]:
        """The jobs that wait, run or have failed, or those in some of these states; what is due first first.

        Raises:
            InvalidInput: there is no such state.
        """
        return await self._store.jobs(tuple(one_of(JobState, state) for state in states))

    async def retry_job(self, job: str) -> None:
        """Let a job that was put aside be tried again.

        Raises:
            InvalidInput: there is no such job, or it was not put aside.
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
