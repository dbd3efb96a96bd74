"""Time with precision: an instant is never invented where only a year is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum


class Precision(StrEnum):
    """How exactly an interval is known, from finest to coarsest."""

    INSTANT = "instant"
    HOUR = "hour"
    PART_OF_DAY = "part_of_day"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A half-open stretch of time, ``start <= t < end``; an end that is ``None`` is open.

    Both ends are aware. ``precision`` says how exactly the words gave the time, so that "2022" stays a year and is
    never read as 1 January.
    """

    start: datetime | None
    end: datetime | None
    precision: Precision

    def __post_init__(self) -> None:
        for moment in (self.start, self.end):
            if moment is not None and moment.tzinfo is None:
                raise ValueError("an interval needs aware datetimes")
        if self.start is None and self.end is None:
            raise ValueError("an interval needs at least one end")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise ValueError("an interval cannot end before it starts")

    def overlaps(self, other: Interval) -> bool:
        """Whether the two share a moment (Hindsight, equation 13)."""
        return _is_before(self.start, other.end) and _is_before(other.start, self.end)

    def contains(self, moment: datetime) -> bool:
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)

    @property
    def duration(self) -> timedelta | None:
        """Length, or ``None`` when an end is open."""
        return None if self.start is None or self.end is None else self.end - self.start

    @property
    def midpoint(self) -> datetime:
        """The middle; of an open interval, the end that is known (Hindsight, equation 14)."""
        if self.start is None:
            assert self.end is not None
            return self.end
        return self.start if self.end is None else self.start + (self.end - self.start) / 2


def _is_before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


def instant_interval(moment: datetime) -> Interval:
    """The interval of one moment: a microsecond long, so that it overlaps what contains it."""
    return Interval(start=moment, end=moment + timedelta(microseconds=1), precision=Precision.INSTANT)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 in UTC, exact (floats lose microseconds)."""
    delta = moment - _EPOCH  # not by way of UTC, where the first and the last hours of a calendar may not exist
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> datetime:
    """The UTC datetime of :func:`to_micros`."""
    return _EPOCH + timedelta(microseconds=micros)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
