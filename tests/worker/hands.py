"""What the tests of background work share: a clock that is set by hand, scripted consolidators, a bank with jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job
from recollect.store.sqlite.folder import SqliteFolder
from recollect.worker import Worker, WorkerSettings

GO_ON = "go-on"  # a file by which one process tells another
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Clock:
    """Stands until it is set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def on(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Hand:
    """A consolidator that does what it is told, and notes when it began and ended what.

    ``makes`` gives what comes of a job; ``does`` is run before that, and may wait or raise.
    """

    def __init__(
        self,
        kind: str = "knot",
        does: Callable[[Job], Awaitable[None]] | None = None,
        makes: Callable[[Job], Changeset] | None = None,
    ) -> None:
        self.kind, self._does, self._makes = kind, does, makes
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.derived: list[str] = []

    def plan_jobs(self, changes, now):
        """A job for each setting ``{kind}.then``: jobs that are caused by what was derived."""
        wanted = (value for key, value in changes.settings if key == f"{self.kind}.then")
        return tuple(job(value, self.kind, due=now) for value in wanted)

    async def consolidate(self, job, reader, now):
        self.begun.append(job.id)
        if self._does is not None:
            await self._does(job)
        self.ended.append(job.id)

        async def derive(_) -> Changeset:
            self.derived.append(job.id)
            return Changeset(settings=((f"done {job.id}", job.payload),)) if self._makes is None else self._makes(job)

        return derive


class Gate:
    """Where a job waits until it is let through."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def __call__(self, job) -> None:
        self.reached.set()
        await self.open.wait()


def raising(*errors: Exception | None) -> Callable[[Job], Awaitable[None]]:
    """Raises these in turn, then nothing."""
    left = list(errors)

    async def does(job) -> None:
        error = left.pop(0) if left else None
        if error is not None:
            raise error

    return does


def job(id_: str = "j1", kind: str = "knot", **more) -> Job:
    return Job(id=id_, kind=kind, payload=f"of {id_}", **more)


async def opened(folder=":memory:"):
    """A folder of banks, and a bank in it."""
    banks = SqliteFolder(folder)
    return banks, await banks.open("ada", embedder="hash-8", dimension=8)


async def queue(store, *jobs: Job) -> None:
    await store.commit(Changeset(jobs=jobs))


def worker_of(store, *hands, clock=None, **settings) -> Worker:
    return Worker(store, hands, clock=clock or Clock(), settings=WorkerSettings(**settings))


async def states(store) -> dict[str, str]:
    return {record.id: record.state.value for record in await store.jobs()}


async def until(condition: Callable[[], Awaitable[bool] | bool]) -> None:
    """Wait for something that happens in the background."""
    async with asyncio.timeout(30):
        while True:
            held = condition()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(0.005)


async def let_others_run(turns: int) -> None:
    """Give the other tasks so many turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)


class Wrapped:
    """A store of which single methods are replaced: ``Wrapped(store, claim=...)``."""

    def __init__(self, store, **methods) -> None:
        self._store = store
        self.__dict__.update(methods)

    def __getattr__(self, name):
        return getattr(self._store, name)
