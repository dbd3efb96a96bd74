"""Read the dates and times at the beginning of chat lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import Enum

from recollect.errors import MalformedLine
from recollect.formats.lines import quote_value
from recollect.formats.message_times import ErrorFactory, GivenMoment, make_aware

MARKS = "\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
"""Invisible marks of writing direction. Some exports put them before dates and names."""

_STAMP = re.compile(
    r"(?P<a>\d{1,4})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{4}|\d{1,2})"
    r"(?P<clock>(?:[,،]?\s{1,2}|T)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?"
    r"(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\.?)?(?:\s?(?P<zone>[Zz]|[+-]\d{2}:?\d{2}))?)?(?!\w)"
)
_AFTER_BRACKET = re.compile(r"\]\s*")
_AFTER_DASH = re.compile(r"\s+[-–—](?:\s+|$)")
_HEADING = re.compile(r"(?:#{1,6}|-{2,}|={2,})\s*")
_HEADING_END = "#-= \t"


class DateOrder(Enum):
    """The order of day and month in a date such as 11/07/2023."""

    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp:
    """A date as it is written, with or without a time of day. It may not exist in the calendar."""

    given: str
    numbers: tuple[int, int, int]
    year_first: bool
    hour: int | None = None
    minute: int = 0
    second: int = 0
    half: str | None = None
    zone: str | None = None

    @property
    def date_order(self) -> DateOrder | None:
        """Return the order of day and month that this date shows: a number over 12 is a day."""
        if self.year_first or max(self.numbers[:2]) <= 12:
            return None
        return DateOrder.DAY if self.numbers[0] > 12 else DateOrder.MONTH

    def resolve_moment(self, order: DateOrder | None, zone: tzinfo | None, bad: ErrorFactory) -> GivenMoment:
        """Return the moment. A date without a time of day is its midnight.

        Raises:
            InvalidInput: raised through ``bad``; there is no such date or time, there is no zone, or the order of day
                and month is unknown.
        """
        date = self._iso_date(order, bad)
        offset = "" if self.zone is None else self.zone.upper()
        try:
            at = datetime.fromisoformat(f"{date}T{self._hour_of_day():02}:{self.minute:02}:{self.second:02}{offset}")
        except ValueError as exc:
            raise bad(f"no such date or time: {quote_value(self.given)}") from exc
        return GivenMoment(at=make_aware(at, self.given, zone, bad), given=self.given)

    def session_name(self) -> str:
        """Return the date with the year first, and the time of day if there is one, as the name of a session."""
        date = "{:04}-{:02}-{:02}".format(*self.numbers)
        return date if self.hour is None else f"{date}T{self._hour_of_day():02}:{self.minute:02}"

    def _iso_date(self, order: DateOrder | None, bad: ErrorFactory) -> str:
        if self.year_first:
            return "{:04}-{:02}-{:02}".format(*self.numbers)
        if order is None:
            raise bad(
                f"in {quote_value(self.given)} day and month cannot be told apart, nor by another date in the "
                f"first lines; "
                f"write dates as 2023-07-11"
            )
        first, second, year = self.numbers
        day, month = (first, second) if order is DateOrder.DAY else (second, first)
        return f"{year if year > 99 else 2000 + year:04}-{month:02}-{day:02}"

    def _hour_of_day(self) -> int:
        hour = self.hour or 0
        if self.half is None or not 1 <= hour <= 12:
            return hour
        return hour % 12 + (12 if self.half in "Pp" else 0)


def split_timestamp(line: str) -> tuple[Timestamp, str] | None:
    """Return the stamp at the beginning of ``[stamp] rest`` or ``stamp - rest`` with the rest, or ``None``."""
    text = line.lstrip(MARKS)
    bracket = text.startswith("[")
    found = _STAMP.match(text, 1 if bracket else 0)
    after = found and (_AFTER_BRACKET if bracket else _AFTER_DASH).match(text, found.end())
    stamp = _make_timestamp(found) if found and after else None
    return (stamp, text[after.end() :]) if stamp and after else None


def parse_heading(line: str) -> Timestamp | None:
    """Return the date of a heading such as ``# 2023-07-11`` or ``--- 2023-07-11 18:00 ---``, year first, or
    ``None``.
    """
    opening = _HEADING.match(line)
    found = opening and _STAMP.match(line, opening.end())
    if not found or line[found.end() :].strip(_HEADING_END):
        return None
    stamp = _make_timestamp(found)
    return stamp if stamp and stamp.year_first else None


def infer_date_order(stamps: Iterable[tuple[int, Timestamp]]) -> DateOrder | None:
    """Return the order of day and month on which all dates agree, or ``None`` if no date shows it.

    Each stamp comes with the number of its line.

    Raises:
        MalformedLine: two dates disagree.
    """
    known: tuple[int, DateOrder] | None = None
    for number, stamp in stamps:
        order = stamp.date_order
        if order and known and order is not known[1]:
            raise MalformedLine(
                number,
                f"{quote_value(stamp.given)} has its {order.value} first, line {known[0]} has not; "
                f"write dates as 2023-07-11",
            )
        known = known or (order and (number, order))
    return known and known[1]


def _make_timestamp(found: re.Match[str]) -> Timestamp | None:
    first, last = len(found["a"]), len(found["c"])
    year_first = first == 4 and last <= 2
    # 1.2.10 may be the number of a version: a date that does not begin with its year needs a time of day beside it.
    year_last = first <= 2 and last in (2, 4) and found["clock"] is not None
    if not year_first and not year_last:
        return None
    return Timestamp(
        given=found[0],
        numbers=(int(found["a"]), int(found["b"]), int(found["c"])),
        year_first=year_first,
        hour=None if found["hour"] is None else int(found["hour"]),
        minute=int(found["minute"] or 0),
        second=int(found["second"] or 0),
        half=found["half"],
        zone=found["zone"],
    )
