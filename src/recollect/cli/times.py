"""Times as options give them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from recollect.domain.time import Interval, Precision
from recollect.errors import InvalidInput

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?")


def parse_zone(name: str) -> tzinfo:
    """A zone by its name ("Europe/London") or offset ("+01:00", "Z").

    Raises:
        InvalidInput: there is none.
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
        raise InvalidInput(f"no zone {name!r}; write it as Europe/London or +01:00") from exc


def parse_span(text: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """Where a time begins and ends: a year, month or day its whole length, an instant none.

    Raises:
        InvalidInput: it cannot be read.
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
            f"{text!r} is no time that can be read; write 2023, 2023-07, 2023-07-11 or 2023-07-11T18:05:00+01:00"
        ) from exc
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return moment, moment


def parse_interval(since: str | None, until: str | None, zone: tzinfo) -> Interval | None:
    """The interval from the start of one to the end of the other, or ``None`` where neither is given.

    Raises:
        InvalidInput: one cannot be read, or the end comes first.
    """
    if since is None and until is None:
        return None
    start = None if since is None else parse_span(since, zone)[0]
    end = None if until is None else parse_span(until, zone)[1]
    if start is not None and end is not None and end <= start:
        raise InvalidInput(f"nothing lies between {since} and {until}")
    return Interval(start=start, end=end, precision=Precision.RANGE)


def _partial_span(year: int, month: int | None, zone: tzinfo) -> tuple[datetime, datetime]:
    if month is None:
        return _midnight(date(year, 1, 1), zone), _midnight(date(year + 1, 1, 1), zone)
    following = date(year + month // 12, month % 12 + 1, 1)
    return _midnight(date(year, month, 1), zone), _midnight(following, zone)


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)


def local_now() -> datetime:
    """Now, in the zone of who asks: their "yesterday" ends at their midnight."""
    return datetime.now().astimezone()
