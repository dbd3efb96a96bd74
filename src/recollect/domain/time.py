"""Times with precision: if only a year is known, it stays a year."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from recollect.errors import InvalidInput, NaiveDatetime

FIRST_MOMENT = datetime(3, 1, 1, tzinfo=UTC)
LAST_MOMENT = datetime(9997, 1, 1, tzinfo=UTC)
"""The times that can be used. The years before and after them are room for "last year" and for other time zones."""


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
        NaiveDatetime: a time has no zone.
        InvalidInput: both ends are ``None``, the end is before the start, or a field has the wrong type.
    """

    start: datetime | None
    end: datetime | None
    precision: Precision

    def __post_init__(self) -> None:
        for name, moment in (("start", self.start), ("end", self.end)):
            if moment is not None and not isinstance(moment, datetime):
                raise InvalidInput(f"the {name} of an interval is a {type(moment).__name__} and not a datetime")
            if moment is not None and moment.tzinfo is None:
                raise NaiveDatetime(f"the {name} of an interval")
        if self.start is None and self.end is None:
            raise InvalidInput("an interval needs at least one end")
        # In microseconds: within one zone, datetime compares the hands of the clock, which are set back once a year.
        if self.start is not None and self.end is not None and to_micros(self.end) < to_micros(self.start):
            raise InvalidInput("an interval cannot end before it starts")
        if not isinstance(self.precision, Precision):
            raise InvalidInput(f"the precision of an interval is a {type(self.precision).__name__} and not a Precision")

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
    end = moment + timedelta(microseconds=1)
    if moment.fold:  # adding to a time forgets that the clocks had been set back before it
        end = end.replace(fold=1)
    return Interval(start=moment, end=end, precision=Precision.INSTANT)


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
    """Return the UTC datetime for a result of :func:`to_micros`.

    A time before :data:`FIRST_MOMENT` or after :data:`LAST_MOMENT` becomes the nearer of them. No caller can give such
    a time, but a bank of an earlier version may hold one, and everything that computes with it needs room.
    """
    return _EPOCH + timedelta(microseconds=min(max(micros, FIRST_MICROS), LAST_MICROS))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MICROS, LAST_MICROS = to_micros(FIRST_MOMENT), to_micros(LAST_MOMENT)
