"""Read the times that options contain. All functions except ``local_now`` are pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from recollect.domain.checks import require_moment
from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?")


def parse_zone(name: str) -> tzinfo:
    """Return a time zone by its name ("Europe/London") or its offset ("+01:00", "Z").

    Raises:
        InvalidInput: there is no such time zone.
    """
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        if offset := datetime.strptime(name, "%z").tzinfo:
            return offset
    except ValueError:
        pass
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidInput(f"unknown time zone {name!r}. Write it as Europe/London or +01:00") from exc


def parse_span(text: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the start and the end of a time. A year, a month or a day has its whole length. An instant has no length.

    Raises:
        InvalidInput: the text cannot be read as a time.
    """
    try:
        if partial := _PARTIAL.fullmatch(text):
            return _partial_span(int(partial[1]), int(partial[2]) if partial[2] else None, zone)
        if len(text) == len("2023-07-11"):
            day = date.fromisoformat(text)
            return _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as exc:
        raise InvalidInput(
            f"{text!r} cannot be read as a time. Write it as 2023, 2023-07, 2023-07-11 or 2023-07-11T18:05:00+01:00"
        ) from exc
    moment = require_moment("the time", moment if moment.tzinfo else moment.replace(tzinfo=zone))
    return moment, moment


def parse_interval(since: str | None, until: str | None, zone: tzinfo) -> Interval | None:
    """Return the interval from the start of ``since`` to the end of ``until``, or ``None`` if neither is given.

    Raises:
        InvalidInput: a time cannot be read, or the end is not after the start.
    """
    if since is None and until is None:
        return None
    start = None if since is None else parse_span(since, zone)[0]
    end = None if until is None else parse_span(until, zone)[1]
    if start is not None and end is not None and end <= start:
        raise InvalidInput(f"the time range from {since} to {until} is empty")
    return Interval(start=start, end=end, precision=Precision.RANGE)


def _partial_span(year: int, month: int | None, zone: tzinfo) -> tuple[datetime, datetime]:
    if month is None:
        return _midnight(date(year, 1, 1), zone), _midnight(date(year + 1, 1, 1), zone)
    following = date(year + month // 12, month % 12 + 1, 1)
    return _midnight(date(year, month, 1), zone), _midnight(following, zone)


def _midnight(day: date, zone: tzinfo) -> datetime:
    """Return the beginning of a day. Some clocks skip midnight once a year, so that the day begins later."""
    midnight = datetime.combine(day, time(), tzinfo=zone)
    return require_moment("the time", midnight.astimezone(UTC).astimezone(zone))


def local_now() -> datetime:
    """Return the current time in the user's time zone, because the user's "yesterday" ends at midnight there."""
    return datetime.now().astimezone()
