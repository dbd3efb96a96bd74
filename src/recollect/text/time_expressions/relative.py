"""Compute times relative to the day of the message: "two weeks ago", "last month", "the past three days"."""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo
from typing import Final

from recollect.domain.time import Interval, Precision
from recollect.text.time_expressions.spans import (
    add_months,
    between,
    day_of,
    hour_before,
    join,
    month_of,
    part_of_day,
    season_of,
    week_of,
    weekend_of,
    year_of,
)
from recollect.text.time_expressions.tense import Direction
from recollect.text.time_expressions.words import WEEKDAYS

_CLOCK: Final = {"minute": timedelta(minutes=1), "min": timedelta(minutes=1), "hour": timedelta(hours=1)}
_DAYS: Final = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14}


def ago(low: int, high: int, unit: str, at: datetime) -> Interval:
    """Return the whole unit that lies ``high`` to ``low`` units before ``at``. The result is never finer than the unit.

    Raises:
        ValueError: the rules do not count in this unit, or the year is out of range.
        OverflowError: the count is far too large.
    """
    if low != high:
        return join(ago(high, high, unit, at), ago(low, low, unit, at))
    if unit in _CLOCK:
        return hour_before(at, low * _CLOCK[unit])
    if unit in WEEKDAYS:
        return day_of(weekday_before(at.date(), WEEKDAYS[unit]) - timedelta(days=7 * (low - 1)), at.tzinfo)
    return unit_of(shift(at.date(), unit, -low), unit, at.tzinfo)


def shift(day: date, unit: str, count: int) -> date:
    """Return ``day`` moved by ``count`` units. Months and years follow the calendar."""
    if unit in _DAYS:
        return day + timedelta(days=_DAYS[unit] * count)
    if unit in ("month", "year"):
        return add_months(day, count * (12 if unit == "year" else 1))
    raise ValueError(f"not a unit of whole days: {unit!r}")


def unit_of(day: date, unit: str, zone: tzinfo | None) -> Interval:
    """Return the day, night, week, weekend, month or year that contains ``day``."""
    if unit == "night":
        return part_of_day(day, "night", zone)
    if unit == "month":
        return month_of(day.year, day.month, zone)
    if unit == "year":
        return year_of(day.year, zone)
    return {"day": day_of, "weekend": weekend_of}.get(unit, week_of)(day, zone)


def rolling(count: int, unit: str, at: datetime, step: int) -> Interval:
    """Return the ``count`` units up to today (``step`` -1) or from today on (``step`` +1). Today is included."""
    today, tomorrow = at.date(), at.date() + timedelta(days=1)
    if unit not in (*_DAYS, "month", "year"):
        raise ValueError(f"not a unit of whole days: {unit!r}")
    moved = shift(today, unit, step * count)
    start, end = (moved, tomorrow) if step < 0 else (today, moved + timedelta(days=1))
    return between(start, end, at.tzinfo, Precision.RANGE)


def weekday_before(day: date, weekday: int) -> date:
    """Return the last such weekday strictly before ``day``."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def weekday_after(day: date, weekday: int) -> date:
    """Return the first such weekday strictly after ``day``."""
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)


def weekday_of(which: str, weekday: int, at: datetime) -> Interval | None:
    """Return "last Friday" (the one before the day of the message) or "this Friday" (the one of its week).

    For some people "next Friday" is the coming Friday, for others that of next week. The result is ``None`` unless both
    are the same day.
    """
    today = at.date()
    if which == "this":
        found = today + timedelta(days=weekday - today.weekday())
    elif which == "last":
        found = weekday_before(today, weekday)
    elif which == "coming" or weekday <= today.weekday():
        found = weekday_after(today, weekday)
    else:
        return None
    return day_of(found, at.tzinfo)


def weekend_relative(which: str, at: datetime) -> Interval | None:
    """Return a weekend by the rules for weekdays. "next weekend" is ``None`` before Saturday."""
    today = at.date()
    if which == "next" and today.weekday() < 5:
        return None
    return weekend_of(today + timedelta(days={"last": -7, "next": 7}.get(which, 0)), at.tzinfo)


def month_relative(which: str, month: int, at: datetime) -> Interval | None:
    """Return "last May" (the newest May before this month) or "next May" (only if it lies in a later year, else
    ``None``).
    """
    today = at.date()
    if which == "last":
        return month_of(today.year - (month >= today.month), month, at.tzinfo)
    if which == "this":
        return month_of(today.year, month, at.tzinfo)
    return month_of(today.year + 1, month, at.tzinfo) if month <= today.month else None


def season_relative(which: str, first_month: int, at: datetime) -> Interval | None:
    """Return "last summer" (the newest that is over), "this summer" (of this year) or "next summer" (of a later year).

    A winter begins in December. "this winter" is the current one, or the next one if it begins in less than four
    months. Otherwise it is unclear, and the result is ``None``.
    """
    today, winter = at.date(), first_month == 12
    year = today.year - (winter and today.month < 9)  # of the season that "this" means
    if which == "last":
        over = add_months(date(year, first_month, 1), 3) <= today
        return season_of(year if over else year - 1, first_month, at.tzinfo)
    if which == "this":
        return None if winter and 3 <= today.month < 9 else season_of(year, first_month, at.tzinfo)
    return season_of(year + 1, first_month, at.tzinfo) if date(year, first_month, 1) <= today else None


def weekday_towards(weekday: int, at: datetime, way: Direction) -> Interval | None:
    """Return the nearest such weekday in the direction of the verbs. Today is excluded."""
    if way is Direction.UNKNOWN:
        return None
    find = weekday_before if way is Direction.PAST else weekday_after
    return day_of(find(at.date(), weekday), at.tzinfo)


def weekend_towards(at: datetime, way: Direction) -> Interval | None:
    """Return the weekend of "over the weekend": the current one, or the nearest in the direction of the verbs."""
    if way is Direction.UNKNOWN:
        return None
    last = way is Direction.PAST and at.date().weekday() < 5
    return weekend_of(at.date() - timedelta(days=7 if last else 0), at.tzinfo)
