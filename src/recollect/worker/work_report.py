"""What came of background work, and what is left of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recollect.domain.jobs import JobRecord, JobState


class JobOutcome(StrEnum):
    """What became of one attempt at a job.

    ``LOST`` is one whose job was somebody else's by then, dropped or forgotten, or whose failure could not be written
    down; nothing of it is kept.
    """

    DONE = "done"
    DELAYED = "delayed"
    DEAD = "dead"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """Attempts by outcome, and a line for each job that is not done and does not simply wait for its time."""

    outcomes: dict[JobOutcome, int] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        return self.outcomes.get(JobOutcome.DONE, 0)


def describe_left_jobs(records: Sequence[JobRecord], *, kinds: Collection[str], since: datetime) -> tuple[str, ...]:
    """What a caller should know of the jobs that are still in the queue when a worker has found nothing more to do.

    Jobs that died or were delayed, whoever's attempt it was; that somebody else is doing; that are of no kind it does.

    Args:
        records: the queue.
        kinds: what the worker does.
        since: jobs that were put aside before that are old news.
    """
    known = (_describe_job(one, since) for one in records if one.kind in kinds)
    others = Counter(one.kind for one in records if one.state is JobState.WAITING and one.kind not in kinds)
    waiting = (f"{count} of the kind {kind!r} wait: nobody here does such jobs" for kind, count in others.items())
    return (*(news for news in known if news is not None), *waiting)


def _describe_job(one: JobRecord, since: datetime) -> str | None:
    match one.state:
        case JobState.RUNNING:
            return f"{one.id}: {one.worker} has it and is not done"
        case JobState.DEAD if one.failed is None or one.failed < since:
            return None
        case _:
            return None if one.error is None else f"{one.id}: {one.error}"
