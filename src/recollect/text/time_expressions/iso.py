"""Read the ISO 8601 dates that a model writes, complete or partial. An interval is never more precise than its date."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, tzinfo
from typing import Final

from recollect.domain.time import Interval, Precision, instant_interval
from recollect.text.time_expressions.spans import day_of, month_of, year_of

_DATE: Final = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2})(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)"
    r"(?P<offset>Z|[+-]\d{2}:\d{2})?)?)?)?"
)


def parse_iso_date(text: str, zone: tzinfo | None) -> Interval:
    """Return the year, month, day or moment of an ISO date. A date without an offset is in ``zone``.

    Raises:
        ValueError: the text has none of these forms, or there is no such day.
    """
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no date; write 2023, 2023-07, 2023-07-09 or 2023-07-09T18:30")
    year, month, day = (int(part) if part else None for part in found.group("year", "month", "day"))
    assert year is not None
    try:
        if found["time"]:
            moment = datetime.fromisoformat(found.group().replace(" ", "T"))
            day_of(moment.date(), zone)  # refuses years that datetime cannot move to another zone
            return instant_interval(moment if moment.tzinfo else moment.replace(tzinfo=zone))
        if day and month:
            return day_of(date(year, month, day), zone)
        return month_of(year, month, zone) if month else year_of(year, zone)
    except (ValueError, OverflowError) as exc:  # the day after the last one that there is
        raise ValueError(f"there is no {text!r}: {exc}") from exc


def parse_iso_span_checked(start: str | None, end: str | None, zone: tzinfo | None) -> Interval | None:
    """Return what :func:`parse_iso_span` reads in ``zone``, for two dates that are known to be in order in UTC.

    If only one date has an offset, the dates may be in order in UTC and not in ``zone``. Then they are read in UTC.
    """
    try:
        return parse_iso_span(start, end, zone)
    except ValueError:
        return parse_iso_span(start, end, UTC)


def parse_iso_span(start: str | None, end: str | None, zone: tzinfo | None) -> Interval | None:
    """Return the interval between the two dates of a reply, or ``None`` if neither is given.

    Raises:
        ValueError: a date cannot be read, or the end comes before the start.
    """
    first, last = (parse_iso_date(text, zone) if text and text.strip() else None for text in (start, end))
    if first is None or last is None:
        return first if last is None else Interval(start=None, end=last.end, precision=Precision.RANGE)
    assert first.start is not None
    assert last.end is not None
    if last.end <= first.start:
        raise ValueError(f"it ends ({end}) before it starts ({start})")
    if first == last:
        return first
    return Interval(start=first.start, end=last.end, precision=Precision.RANGE)
