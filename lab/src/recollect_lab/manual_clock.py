"""A clock that is set by hand, so that every run sees the same moments."""

from __future__ import annotations

from datetime import datetime


class ManualClock:
    """A clock that returns the aware moment to which it was last set. It never goes back."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def set(self, now: datetime) -> None:
        self._now = max(self._now, now)

    def __call__(self) -> datetime:
        return self._now
