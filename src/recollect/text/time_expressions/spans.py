"""Build intervals in a time zone: a day, a week, a month and so on.

Weeks start on Monday. Seasons are those of the northern hemisphere in whole months (summer is June to August), because
the words do not tell where the speaker lives.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from recollect.domain.time import Interval, Precision

# datetime cannot move a year at its limits to another time zone, so such a year is refused here.
_FIRST_YEAR, _LAST_YEAR = 2, 9998


def between(start: date, end: date, zone: tzinfo | None, precision: Precision) -> Interval:
    """Return the whole days from ``start`` up to ``end``. ``end`` itself is excluded.

    Raises:
        ValueError: datetime cannot hold the year safely.
    """
    if start.year < _FIRST_YEAR or end.year > _LAST_YEAR:
        raise ValueError("the year is out of range")
    return Interval(start=_midnight(start, zone), end=_midnight(end, zone), precision=precision)


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)


def day_of(day: date, zone: tzinfo | None) -> Interval:
    return between(day, day + timedelta(days=1), zone, Precision.DAY)


def week_of(day: date, zone: tzinfo | None) -> Interval:
    """Return the week of ``day``, Monday to Sunday."""
    monday = day - timedelta(days=day.weekday())
    return between(monday, monday + timedelta(days=7), zone, Precision.WEEK)


def weekend_of(day: date, zone: tzinfo | None) -> Interval:
    """Return Saturday and Sunday of the week of ``day``. Two days are a range."""
    saturday = day + timedelta(days=5 - day.weekday())
    return between(saturday, saturday + timedelta(days=2), zone, Precision.RANGE)


def months_of(year: int, month: int, zone: tzinfo | None, *, count: int, precision: Precision) -> Interval:
    """Return ``count`` months from the first day of ``month``."""
    return between(date(year, month, 1), add_months(date(year, month, 1), count), zone, precision)


def month_of(year: int, month: int, zone: tzinfo | None) -> Interval:
    return months_of(year, month, zone, count=1, precision=Precision.MONTH)


def season_of(year: int, month: int, zone: tzinfo | None) -> Interval:
    """Return three months from ``month``: a season (3, 6, 9, 12) or a quarter (1, 4, 7, 10)."""
    return months_of(year, month, zone, count=3, precision=Precision.SEASON)


def year_of(year: int, zone: tzinfo | None) -> Interval:
    return between(date(year, 1, 1), date(year + 1, 1, 1), zone, Precision.YEAR)


def decade_of(year: int, zone: tzinfo | None) -> Interval:
    first = year - year % 10
    return between(date(first, 1, 1), date(first + 10, 1, 1), zone, Precision.DECADE)


def part_of_day(day: date, part: str, zone: tzinfo | None) -> Interval:
    """Return the widest meaning of a part of a day: morning 0 to 12, afternoon 12 to 18, evening 17 to 24, night 18 to
    6.
    """
    first, last = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}[part]
    midnight = day_of(day, zone).start
    assert midnight is not None
    hour = timedelta(hours=1)
    return Interval(start=midnight + first * hour, end=midnight + last * hour, precision=Precision.PART_OF_DAY)


def hour_before(at: datetime, delta: timedelta) -> Interval:
    """Return the clock hour that lies ``delta`` before ``at``."""
    then = (at.astimezone(UTC) - delta).astimezone(at.tzinfo).replace(minute=0, second=0, microsecond=0)
    day_of(then.date(), at.tzinfo)
    return Interval(start=then, end=then + timedelta(hours=1), precision=Precision.HOUR)


def join(first: Interval, last: Interval) -> Interval:
    """Return the range from the start of one interval to the end of the other."""
    return Interval(start=first.start, end=last.end, precision=Precision.RANGE)


def add_months(day: date, count: int) -> date:
    """Return the same day ``count`` months later, or the last day of a shorter month."""
    months = day.year * 12 + day.month - 1 + count
    year, month = divmod(months, 12)
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError("the year is out of range")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
