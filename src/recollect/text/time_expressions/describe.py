"""Write an interval in words, at its precision."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Final

from recollect.domain.time import Interval, Precision
from recollect.text.time_expressions.words import ENGLISH_MONTHS

_SEASONS: Final = {3: "spring", 6: "summer", 9: "autumn"}


def describe_interval(interval: Interval) -> str:
    """Return the interval in words: "7 May 2023", "May 2023", "week of 1 May 2023", "since 2019".

    An interval without a start is "before" its end, so "until June 2022" becomes "before July 2022". Whole days read
    the same after a change of time zone, such as in a store that keeps UTC. Hours are written as they are given.
    """
    start, end = _snap_to_midnights(interval)
    if start is None:
        assert end is not None
        return f"before {_name_at(end, interval.precision)}"
    if end is None:
        return f"since {_name_at(start, interval.precision)}"
    if interval.precision is Precision.RANGE:
        return _format_range(start, end)
    if interval.precision is Precision.PART_OF_DAY:
        return _format_part(start, end)
    return _format_moment(start, interval.precision)


def _snap_to_midnights(interval: Interval) -> tuple[datetime | None, datetime | None]:
    """Return both ends. The ends of whole days move to the nearest midnight, which undoes a change of time zone."""
    fine = interval.precision in (Precision.INSTANT, Precision.HOUR, Precision.PART_OF_DAY)
    short = interval.duration is not None and interval.duration < timedelta(hours=23)  # a day of the clock change
    if fine or short:
        return interval.start, interval.end
    return _find_nearest_midnight(interval.start), _find_nearest_midnight(interval.end)


def _find_nearest_midnight(at: datetime | None) -> datetime | None:
    if at is None:
        return None
    return datetime.combine((at + timedelta(days=at.hour >= 12)).date(), time(), tzinfo=at.tzinfo)


def _name_at(at: datetime, precision: Precision) -> str:
    article = "the " if precision in (Precision.WEEK, Precision.DECADE) else ""
    return article + _format_moment(at, precision)


def _format_moment(at: datetime, precision: Precision) -> str:
    match precision:
        case Precision.DAY:
            return _format_day(at)
        case Precision.WEEK:
            return f"week of {_format_day(at)}"
        case Precision.MONTH:
            return f"{ENGLISH_MONTHS[at.month - 1]} {at.year}"
        case Precision.SEASON:
            return _format_season(at)
        case Precision.YEAR:
            return str(at.year)
        case Precision.DECADE:
            return f"{at.year - at.year % 10}s"
        case Precision.RANGE:
            return _format_day(at)
        case _:
            return f"{_format_day(at)}, {at:%H:%M}"


def _format_day(at: datetime) -> str:
    return f"{at.day} {ENGLISH_MONTHS[at.month - 1]} {at.year}"


def _format_season(at: datetime) -> str:
    if at.month == 12:
        return f"winter {at.year}–{(at.year + 1) % 100:02}"
    return f"{_SEASONS[at.month]} {at.year}" if at.month in _SEASONS else f"Q{(at.month + 2) // 3} {at.year}"


def _format_part(start: datetime, end: datetime) -> str:
    parts = {(0, 12): "morning", (12, 18): "afternoon", (17, 0): "evening", (18, 6): "night"}
    part = parts.get((start.hour, end.hour))
    return f"{part} of {_format_day(start)}" if part else f"{_format_day(start)}, {start:%H:%M}"


def _format_range(start: datetime, end: datetime) -> str:
    """Return the whole years, months or days from the first to the last, in words."""
    last = end - timedelta(microseconds=1)
    whole_months = start.day == end.day == 1
    if whole_months and start.month == end.month == 1:
        return str(start.year) if start.year == last.year else f"{start.year}–{last.year}"
    if whole_months:
        return _format_from_to(
            (ENGLISH_MONTHS[start.month - 1], start.year), (ENGLISH_MONTHS[last.month - 1], last.year)
        )
    if start.weekday() == 5 and end - start == timedelta(days=2):
        return f"weekend of {_format_day(start)}"
    if (start.year, start.month) == (last.year, last.month) and start.day != last.day:
        return f"{start.day}–{_format_day(last)}"
    first = f"{start.day} {ENGLISH_MONTHS[start.month - 1]}"
    return _format_from_to((first, start.year), (f"{last.day} {ENGLISH_MONTHS[last.month - 1]}", last.year))


def _format_from_to(first: tuple[str, int], last: tuple[str, int]) -> str:
    if first == last:
        return f"{last[0]} {last[1]}"
    shared = first[1] == last[1]
    dash = "–" if shared and " " not in first[0] else " – "
    return f"{first[0]}{'' if shared else f' {first[1]}'}{dash}{last[0]} {last[1]}"
