"""The results of background work, and the jobs that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recollect.domain.jobs import JobRecord, JobState


class JobOutcome(StrEnum):
    """The outcome of one attempt at a job.

    ``LOST`` means that nothing of the attempt is kept. The job belonged to another worker by then, it was dropped or
    forgotten, or its failure could not be recorded.
    """

    DONE = "done"
    DELAYED = "delayed"
    DEAD = "dead"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """The attempts by outcome, and a line for each job that is neither done nor simply waiting for its time."""

    outcomes: dict[JobOutcome, int] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        return self.outcomes.get(JobOutcome.DONE, 0)


def describe_left_jobs(records: Sequence[JobRecord], *, kinds: Collection[str], since: datetime) -> tuple[str, ...]:
    """Return what a caller should know of the jobs that are left when a worker has found nothing more to do.

    These are jobs that died or were delayed in an attempt of any worker, jobs that another worker is doing, and jobs of
    kinds that this worker does not do.

    Args:
        records: the jobs in the queue.
        kinds: the kinds of jobs that the worker does.
        since: the time from which on jobs are reported. Jobs that died before are left out.
    """
    known = (_describe_job(one, since) for one in records if one.kind in kinds)
    others = Counter(one.kind for one in records if one.state is JobState.WAITING and one.kind not in kinds)
    waiting = (
        f"{count} of the kind {kind!r} wait, because no worker here does such jobs" for kind, count in others.items()
    )
    return (*(news for news in known if news is not None), *waiting)


def _describe_job(one: JobRecord, since: datetime) -> str | None:
    match one.state:
        case JobState.RUNNING:
            return f"{one.id}: {one.worker} is still doing it"
        case JobState.DEAD if one.failed is None or one.failed < since:
            return None
        case _:
            return None if one.error is None else f"{one.id}: {one.error}"
