"""Jobs: work that a write causes and that a worker does later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class JobState(StrEnum):
    """The state of a job. A job that is done is removed."""

    WAITING = "waiting"
    RUNNING = "running"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of background work. ``id`` is derived from its subject, so that the same work is queued only once.

    ``messages`` are the ids of the messages that the job is about. A forgotten message is removed from the job. If no
    message is left, the job is removed. ``due`` is the earliest moment at which it runs. ``None`` means at once.

    A job can be queued again while it waits. It then takes the newer payload and the later due time, and is about the
    messages of both. So a burst of writes causes one run. It is delayed by ten minutes at most, however long the burst
    is. It is not delayed if it was once queued without a due time. If a job is queued again while it runs, it runs once
    more afterwards. If it is queued again after it is done or dead, it is a new job.

    The store sets ``attempts``, ``failures`` and ``claim``. ``attempts`` is the number of claims, without attempts that
    do not count. ``failures`` is the number of failures in a row, including those that do not count. ``claim``
    identifies the current claim.
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
    """A job as it is in the queue.

    ``error`` describes the failure of its last attempt, ``reply`` is the model's reply that caused the failure, and
    ``failed`` is the time of the failure. ``worker`` is the worker that runs the job.
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
