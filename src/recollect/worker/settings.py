"""The settings of background work, and the time at which failed work is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.domain.jobs import Job
from recollect.domain.time import add_seconds
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
RENEWALS_IN_A_LEASE: Final = 3
"""How often a lease is renewed while it lasts.

Between two renewals a worker may wait for the write lock as long as SQLite lets it wait (30 s), and keeps its lease.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The constants of background work.

    - ``concurrency``: the number of jobs of a bank that are done at the same time.
    - ``lease_s``: the seconds for which a claimed job belongs to its worker alone. The worker renews the lease while it
      works. So no two workers do the same job, and after a kill the job is free when the lease is over.
    - ``call_timeout_s``: the seconds after which a job whose calls have not ended has failed. So no job hangs forever.
    - ``backoff_s``, ``longest_backoff_s``: a failed job is tried again after ``backoff_s``, then after four times
      that, then after sixteen times that, and so on, but at most after ``longest_backoff_s``.
    - ``attempts``: the number of tries after which a job is dead. Tries in which no model could be reached do not
      count.
    - ``poll_s``: the seconds between two looks for due jobs, if nothing wakes the worker before.
    - ``automatic``: if it is false, the worker works only when it is asked to (``wait=True``, ``Bank.work``), and
      leaves the rest to others.

    Raises:
        InvalidInput: a number is out of its range.
    """

    concurrency: int = 4
    lease_s: float = 45.0
    call_timeout_s: float = 900.0
    attempts: int = 5
    backoff_s: float = 15.0
    longest_backoff_s: float = 3600.0
    poll_s: float = 2.0
    automatic: bool = True

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.attempts < 1:
            raise InvalidInput("a worker's concurrency and attempts must be at least 1")
        if not all(seconds > 0 for seconds in (self.lease_s, self.call_timeout_s, self.backoff_s, self.poll_s)):
            raise InvalidInput("a worker's lease_s, call_timeout_s, backoff_s and poll_s must be greater than 0")
        if self.longest_backoff_s < self.backoff_s:
            raise InvalidInput("a worker's longest_backoff_s must be at least its backoff_s")

    @property
    def renewal_s(self) -> float:
        """Return the seconds between two renewals of a lease."""
        return self.lease_s / RENEWALS_IN_A_LEASE


def compute_retry_time(job: Job, error: Exception, now: datetime, settings: WorkerSettings) -> datetime | None:
    """Return when a failed job is to be tried again, always after ``now``.

    Return ``None`` if it must not be tried by itself. A limit knows when it opens again. If a limit never opens, if no
    model can be asked, or if a bank must be opened again, somebody has to change that. The job waits, and is tried
    again after the longest interval. A job whose changes the store could not keep, or whose model cannot be reached, is
    tried again until it succeeds. In the latter case the intervals grow.
    """
    soonest = add_seconds(now, settings.backoff_s)
    longest = add_seconds(now, settings.longest_backoff_s)
    if isinstance(error, LimitReached) and error.until is not None:
        return max(error.until, soonest)
    if isinstance(error, LimitReached | NoModel | MissingExtra | EmbedderMismatch):
        return longest
    if isinstance(error, StoreError):
        return soonest
    if _is_unreachable(error):
        return add_seconds(now, compute_backoff_s(job.failures + 1, settings))
    if job.attempts >= settings.attempts:
        return None
    return add_seconds(now, compute_backoff_s(job.attempts, settings))


def compute_backoff_s(attempts: int, settings: WorkerSettings) -> float:
    """Return the seconds between the ``attempts``-th try and the next."""
    growth = float(BACKOFF_GROWTH) ** min(attempts - 1, 100)
    return min(settings.backoff_s * growth, settings.longest_backoff_s)


def uses_attempt(error: Exception) -> bool:
    """Return true if a failure uses up one of a job's attempts.

    A failure that says nothing about the job itself does not.
    """
    return not (isinstance(error, LimitReached | NoModel | MissingExtra | StoreError) or _is_unreachable(error))


def _is_unreachable(error: Exception) -> bool:
    """Return true if no model could be reached.

    A model that gave no answer was reached. It may have a problem with this prompt only.
    """
    return isinstance(error, ModelUnavailable) and not isinstance(error, NoAnswer)


def find_reply(error: Exception) -> str | None:
    """Return the model's reply that caused an error, for inspection."""
    return error.reply if isinstance(error, InvalidReply) else None
