"""A worker beside the program that writes: it runs in the program's own event loop."""

from __future__ import annotations

import asyncio

from recollect.worker.report import WorkReport
from recollect.worker.worker import Worker

CLOSED = "the bank was closed while its jobs were being done; they wait for the next time"


class Background:
    """Runs a worker from the first time it is woken until it is closed."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._running: asyncio.Task[None] | None = None
        self._drains: set[asyncio.Task[WorkReport]] = set()

    def wake(self) -> None:
        """Say that there may be something to do; needs a running event loop."""
        if not self._worker.automatic:
            return
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._worker.run(), name="recollect worker")
        self._worker.wake()

    async def drain(self) -> tuple[str, ...]:
        """Do everything there is, not yet due jobs included; gives what went wrong, a line a job."""
        draining = asyncio.create_task(self._worker.drain(hurry=True), name="recollect drain")
        self._drains.add(draining)
        try:
            return (await draining).errors
        except asyncio.CancelledError:
            if _cancelled():
                raise
            return (CLOSED,)  # it was not we who were cancelled, but the drain
        finally:
            self._drains.discard(draining)

    async def close(self) -> None:
        """Stop; a job that is cut short is free for others at once."""
        tasks = [task for task in (self._running, *self._drains) if task is not None]
        self._running = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
