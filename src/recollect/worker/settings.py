"""How background work goes, and when work that failed is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from recollect.domain.jobs import Job
from recollect.errors import (
    EmbedderMismatch,
    InvalidInput,
    InvalidReply,
    LimitReached,
    MissingExtra,
    ModelUnavailable,
    NoAnswer,
    NoModel,
    StoreError,
)

BACKOFF_GROWTH: Final = 4
SHARE_OF_LEASE: Final = 0.9  # the rest is for committing what was derived


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The constants of background work.

    ``concurrency`` jobs of a bank are done at a time. A claimed job is nobody else's for ``lease_s`` seconds; one that
    has not ended its calls after nine tenths of that has failed, so that no two workers are at it, and no job that
    hangs is for ever. One that failed is tried again after ``backoff_s``, four times that, sixteen times that, at most
    ``longest_backoff_s``; after ``attempts`` tries it is put aside, but for those in which no model could be reached,
    of which there may be any number. An idle worker looks every ``poll_s`` seconds, or
    when it is woken. Where it is not ``automatic``, it works only when it is told to (``wait=True``, ``Bank.work``),
    and leaves the rest to others.

    Raises:
        InvalidInput: a number is out of its range.
    """

    concurrency: int = 4
    lease_s: float = 900.0
    attempts: int = 5
    backoff_s: float = 15.0
    longest_backoff_s: float = 3600.0
    poll_s: float = 2.0
    automatic: bool = True

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.attempts < 1:
            raise InvalidInput("a worker's concurrency and attempts must be at least 1")
        if min(self.lease_s, self.backoff_s, self.poll_s) <= 0:
            raise InvalidInput("a worker's lease_s, backoff_s and poll_s must be over 0")
        if self.longest_backoff_s < self.backoff_s:
            raise InvalidInput("a worker's longest_backoff_s must be at least its backoff_s")

    @property
    def call_timeout_s(self) -> float:
        """Seconds that a job's calls may take."""
        return self.lease_s * SHARE_OF_LEASE


def compute_retry_time(job: Job, error: Exception, now: datetime, settings: WorkerSettings) -> datetime | None:
    """When a job that failed is to be tried again, always after ``now``; ``None`` for never by itself.

    A limit says itself when it opens again; where it never does, where no model can be asked, and where a bank is to be
    opened anew, the job waits for somebody to change that, and looks again once in a while. What the store could not
    keep, and a model that cannot be reached, is tried again until it can: the latter ever more seldom.
    """
    soonest = now + timedelta(seconds=settings.backoff_s)
    longest = now + timedelta(seconds=settings.longest_backoff_s)
    if isinstance(error, LimitReached) and error.until is not None:
        return max(error.until, soonest)
    if isinstance(error, LimitReached | NoModel | MissingExtra | EmbedderMismatch):
        return longest
    if isinstance(error, StoreError):
        return soonest
    if _is_unreachable(error):
        return now + timedelta(seconds=compute_backoff_s(job.failures + 1, settings))
    if job.attempts >= settings.attempts:
        return None
    return now + timedelta(seconds=compute_backoff_s(job.attempts, settings))


def compute_backoff_s(attempts: int, settings: WorkerSettings) -> float:
    """Seconds between the ``attempts``-th try and the next."""
    growth = float(BACKOFF_GROWTH) ** min(attempts - 1, 100)
    return min(settings.backoff_s * growth, settings.longest_backoff_s)


def uses_attempt(error: Exception) -> bool:
    """Whether a failure uses up one of a job's attempts: what says nothing of the job itself does not."""
    return not (isinstance(error, LimitReached | NoModel | MissingExtra | StoreError) or _is_unreachable(error))


def _is_unreachable(error: Exception) -> bool:
    """Whether no model could be reached; one that gave no answer was, and may only be at a loss with this prompt."""
    return isinstance(error, ModelUnavailable) and not isinstance(error, NoAnswer)


def find_reply(error: Exception) -> str | None:
    """The model's answer that caused an error, for inspection."""
    return error.reply if isinstance(error, InvalidReply) else None
