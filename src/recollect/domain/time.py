"""Times with precision: if only a year is known, it stays a year."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum


class Precision(StrEnum):
    """The precision of an interval, from the finest to the coarsest."""

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
    """A half-open interval of time, ``start <= t < end``. ``None`` as a start or an end means that it is open.

    ``start`` and ``end`` are aware. ``precision`` is the precision of the words for this time. With it, "2022" stays a
    year and is never read as 1 January.

    Raises:
        ValueError: both ends are ``None``, a time has no zone, or the end is before the start.
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
        """Return true if the two intervals share a moment (Hindsight, equation 13)."""
        return _is_before(self.start, other.end) and _is_before(other.start, self.end)

    def contains(self, moment: datetime) -> bool:
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)

    @property
    def duration(self) -> timedelta | None:
        """Return the length, or ``None`` if an end is open."""
        return None if self.start is None or self.end is None else self.end - self.start

    @property
    def midpoint(self) -> datetime:
        """Return the middle (Hindsight, equation 14). If an end is open, return the other one."""
        if self.start is None:
            assert self.end is not None
            return self.end
        return self.start if self.end is None else self.start + (self.end - self.start) / 2


def _is_before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


def instant_interval(moment: datetime) -> Interval:
    """Return the interval of one moment. It is one microsecond long, so that it overlaps the intervals that
    contain it.
    """
    return Interval(start=moment, end=moment + timedelta(microseconds=1), precision=Precision.INSTANT)


def add_seconds(moment: datetime, seconds: float) -> datetime:
    """Return a later moment, at most the last one of the calendar, so that a wrong clock does not stop work."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def to_micros(moment: datetime) -> int:
    """Return the microseconds since 1970 in UTC. The number is exact, because floats would lose microseconds."""
    delta = moment - _EPOCH  # not converted to UTC first: UTC may not have the first and the last hours of the calendar
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> datetime:
    """Return the UTC datetime for a result of :func:`to_micros`."""
    return _EPOCH + timedelta(microseconds=micros)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
