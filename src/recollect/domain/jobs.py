"""Jobs: work that a write causes and a worker does later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class JobState(StrEnum):
    """Where a job stands. One that is done is gone."""

    WAITING = "waiting"
    RUNNING = "running"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of background work; ``id`` is a hash of what it is about, so that the same work is queued once.

    ``messages`` are the ids of the messages it is about: one that is forgotten leaves the job, and the last takes it
    along. ``due`` is the moment before which it does not run; ``None`` for at once.

    Queued again while it waits, it takes the newer payload and the later due time, and is about the messages of both:
    a burst of writes costs one run. It is put off by ten minutes at most, however long a burst is, and not at all once
    it was queued for at once. Queued again while it runs, it runs once more afterwards. Queued again when it is done
    or dead, it is new.

    ``attempts``, ``failures`` and ``claim`` are the store's: how often it was claimed, but for attempts that did not
    count; how often in a row it has failed, those included; and which claim this is.
    """

    id: str
    kind: str
    payload: str
    messages: tuple[str, ...] = ()
    due: datetime | None = None
    attempts: int = 0
    failures: int = 0
    claim: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as it stands in the queue.

    ``error`` is what its last attempt failed of, ``reply`` the model's reply that caused that, ``failed`` when
    that was; ``worker`` is who runs it.
    """

    id: str
    kind: str
    state: JobState
    attempts: int
    error: str | None
    reply: str | None
    failed: datetime | None
    due: datetime | None
    worker: str | None
    messages: tuple[str, ...]
