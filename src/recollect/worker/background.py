"""Run a worker in the event loop of the program that writes."""

from __future__ import annotations

import asyncio

from recollect.models.failures import is_cancelled
from recollect.worker.work_report import WorkReport
from recollect.worker.worker import Worker

CLOSED = "the bank was closed while its jobs were being done. They wait until it is opened again"


class BackgroundWorker:
    """Runs a worker each time it is woken, until there is nothing left to do."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._running: asyncio.Task[None] | None = None
        self._drains: set[asyncio.Task[WorkReport]] = set()

    @property
    def at_work(self) -> bool:
        """Return true if it is doing jobs, or is looking for jobs."""
        return self._running is not None and not self._running.done()

    def wake(self) -> None:
        """Wake the worker, because there may be something to do. This needs a running event loop."""
        if not self._worker.automatic:
            return
        if not self.at_work:
            self._running = asyncio.create_task(self._run(), name="recollect worker")
        self._worker.wake()  # before the task begins

    async def _run(self) -> None:
        while self._worker.awake:  # it may have been woken while its run ended
            await self._worker.run()

    async def drain(self) -> tuple[str, ...]:
        """Do all jobs, including those that are not due yet. Return the errors, one line for each job."""
        draining = asyncio.create_task(self._worker.drain(ignore_schedule=True), name="recollect drain")
        self._drains.add(draining)
        try:
            return (await draining).errors
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return (CLOSED,)  # the drain was cancelled, not this task
        finally:
            self._drains.discard(draining)

    async def close(self) -> None:
        """Stop the worker. An interrupted job can be claimed by others at once."""
        tasks = [task for task in (self._running, *self._drains) if task is not None]
        self._running = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
