"""Read written dates, complete ("7 May 2023") or partial ("May 7", "in March"), and ranges of dates."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Final

from recollect.domain.time import Interval
from recollect.text.time_expressions.spans import day_of, join, month_of, year_of
from recollect.text.time_expressions.tense import Direction
from recollect.text.time_expressions.words import DAY, FULL_WEEKDAY, MONTH, YEAR, S, find_month

_ORDINAL = r"(?:st|nd|rd|th)?\b"
ISO: Final = rf"{YEAR}[-/](?:1[0-2]|0?[1-9])[-/]{DAY}(?![\d/-])"
NUMERIC: Final = rf"\d{{1,2}}(?:/\d{{1,2}}/|-\d{{1,2}}-|\.\d{{1,2}}\.){YEAR}(?![\d/-])"
DAY_FIRST: Final = (
    rf"(?:{FULL_WEEKDAY},?{S})?(?:the{S})?{DAY}(?:st|nd|rd|th)?\s{{0,2}}(?:of{S})?{MONTH}(?:,?\s{{0,2}}{YEAR}\b)?"
)
MONTH_FIRST: Final = (
    rf"(?:{FULL_WEEKDAY},?{S})?{MONTH}{S}(?:the{S})?{DAY}{_ORDINAL}(?:(?:,|{S}|,{S})(?:of{S})?{YEAR}\b)?"
)
MONTH_YEAR: Final = rf"{MONTH},?{S}(?:of{S})?{YEAR}\b"
WRITTEN: Final = rf"(?:{ISO}|{DAY_FIRST}|{MONTH_FIRST}|{MONTH_YEAR})"
_PIECE: Final = rf"(?:{WRITTEN}|{MONTH}|{YEAR}\b)"
DASH: Final = r"\s?[-–—]\s?"
RANGE: Final = (
    rf"(?:from{S}(?P<from_a>{_PIECE})(?:{S}(?:to|until|till|through|up{S}to){S}|{DASH})"
    rf"(?P<from_b>{_PIECE}|now\b|today\b|the{S}present\b)"
    rf"|between{S}(?P<between_a>{_PIECE}){S}and{S}(?P<between_b>{_PIECE})"
    rf"|(?P<day_a>{DAY})(?:st|nd|rd|th)?(?:{S}(?:to|until|till|through){S}|{DASH})"
    rf"(?P<day_b>{DAY}(?:st|nd|rd|th)?{S}(?:of{S})?{MONTH}(?:,?{S}{YEAR}\b)?)"
    rf"|(?P<month_a>{MONTH}{S}{DAY}(?:st|nd|rd|th)?)(?:{S}(?:to|until|till|through){S}|{DASH})"
    rf"(?P<month_b>(?:{MONTH}{S})?{DAY}{_ORDINAL}(?:,?{S}{YEAR}\b)?)"
    rf"|(?P<open_a>{MONTH})(?:{S}(?:to|until|till|through){S}|{DASH})(?P<open_b>{MONTH_YEAR}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialDate:
    """The fields of a written date. A field that the words leave out is ``None``."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def interval(self, zone: tzinfo | None) -> Interval:
        """Return the day, month or year that the fields name.

        Raises:
            ValueError: there is no such day, or the year is missing.
        """
        if self.year is None:
            raise ValueError("a date without a year names no interval")
        if self.month is None:
            return year_of(self.year, zone)
        if self.day is None:
            return month_of(self.year, self.month, zone)
        return day_of(date(self.year, self.month, self.day), zone)


def resolve_date(partial: PartialDate, today: date, direction: Direction, zone: tzinfo | None) -> Interval | None:
    """Return the interval of a date. A missing year is that of the nearest occurrence in the direction of the verbs.

    An occurrence that contains today is the nearest one in both directions. The result is ``None`` without a direction,
    and also if the next occurrence is more than half a year away: then the words probably mean something else ("I need
    the bill of my flight on February 10th", said in May).
    """
    if partial.year is not None:
        return partial.interval(zone)
    step = {Direction.PAST: -1, Direction.FUTURE: 1, Direction.UNKNOWN: 0}[direction]
    for year in range(today.year, today.year + 9 * step, step or 1):  # nine years hold a 29 February
        try:
            found = replace(partial, year=year).interval(zone)
        except ValueError:
            continue
        if _is_in_direction(found, today, direction):
            return None if direction is Direction.FUTURE and _is_far(found, today) else found
    return None


def _is_far(found: Interval, today: date) -> bool:
    return found.start is not None and (found.start.date() - today).days > 200


def _is_in_direction(found: Interval, today: date, way: Direction) -> bool:
    assert found.start is not None
    assert found.end is not None
    return found.start.date() <= today if way is Direction.PAST else found.end.date() > today


_FIELDS: Final = re.compile(rf"(?P<year>\b{YEAR}\b)|(?P<day>\b{DAY}(?=st|nd|rd|th|\D|$))|(?P<month>\b{MONTH})", re.I)
_JOINED: Final = re.compile(r"(?<=\d)(?=[a-z]{3})|(?<=[a-z])(?=\d)", re.I)


def parse_date(words: str) -> PartialDate | None:
    """Return the fields of a matched date, or ``None`` if day and month cannot be told apart (5/7/2023)."""
    if re.fullmatch(ISO, words, re.I):
        year, month, day = (int(part) for part in re.split("[-/]", words))
        return PartialDate(year=year, month=month, day=day)
    if re.fullmatch(NUMERIC, words):
        return _parse_numeric([int(part) for part in re.split("[-/.]", words)])
    fields: dict[str, str] = {}
    for field in _FIELDS.finditer(_JOINED.sub(" ", words)):
        fields.setdefault(str(field.lastgroup), field.group())
    return PartialDate(
        year=int(fields["year"]) if "year" in fields else None,
        month=find_month(fields["month"]) if "month" in fields else None,
        day=int(fields["day"]) if "day" in fields else None,
    )


def _parse_numeric(parts: list[int]) -> PartialDate | None:
    first, second, year = parts
    if first > 12 or first == second:
        return PartialDate(year=year, month=second, day=first)
    return PartialDate(year=year, month=first, day=second) if second > 12 else None


def parse_range(found: re.Match[str], today: date, direction: Direction, zone: tzinfo | None) -> Interval | None:
    """Return the days of a range, as the pattern ``RANGE`` matches it, with its first and its last day.

    If the start has no year, it has the year of the end.
    """
    for kind in ("from", "between", "day", "month", "open"):
        if found[f"{kind}_a"]:
            first, words = parse_date(found[f"{kind}_a"]), found[f"{kind}_b"]
            if kind == "day":
                first = PartialDate(day=int(re.sub(r"\D", "", found["day_a"])))
            break
    if first is None:
        return None
    if words.lower().endswith(("now", "today", "present")):
        start = resolve_date(first, today, Direction.PAST, zone)
        return start and join(start, day_of(today, zone))
    last = parse_date(words)
    return None if last is None else _between(first, last, today, direction, zone)


def _between(
    first: PartialDate, last: PartialDate, today: date, way: Direction, zone: tzinfo | None
) -> Interval | None:
    last = last if last.month or first.month is None or last.day is None else replace(last, month=first.month)
    first = first if first.month or first.day is None else replace(first, month=last.month)
    if first.year is not None and last.year is None:
        later = (last.month or 1, last.day or 31) >= (first.month or 1, first.day or 1)
        last = replace(last, year=first.year + (0 if later else 1))
    end = resolve_date(last, today, way, zone)
    if end is None or end.start is None:
        return None
    if first.year is None:
        earlier = (first.month or 1, first.day or 1) <= (last.month or 12, last.day or 31)
        first = replace(first, year=end.start.year - (0 if earlier else 1))
    start = first.interval(zone)
    assert start.start is not None
    return join(start, end) if start.start < end.start else None
