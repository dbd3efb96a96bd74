"""The meaning of each rule's match."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

from recollect.domain.time import Interval
from recollect.text.time_expressions import dates, relative, spans
from recollect.text.time_expressions.tense import Direction, find_direction
from recollect.text.time_expressions.words import (
    FOLLOW,
    HOLIDAYS,
    ORDINALS,
    SEASONS,
    WEEKDAY,
    find_month,
    find_weekday,
    parse_count,
    parse_number,
)

_NAMES: Final = frozenset({"april", "may", "june", "august", "jan", "mar"})
_VERBS: Final = frozenset({"may", "march", "mar", "jan", "jun", "dec", "sep", "oct", "nov", "apr", "feb", "jul", "aug"})


def read_direction(found: re.Match[str]) -> Direction:
    return find_direction(found.string, found.start(), found.end())


def _optional_group(found: re.Match[str], group: str) -> str | None:
    """Return a group of the match, or ``None`` if this pattern does not have the group."""
    return found.groupdict().get(group)


def written(found: re.Match[str], at: datetime) -> Interval | None:
    words = found.group()
    partial = dates.parse_date(words)
    if partial is None:
        return None
    if partial.year is None and not re.search(rf"{_ORDINAL_END}|(?-i:[A-Z])[a-z]", words):
        return None  # "march 5", "may 2" in small letters: too often verbs
    if partial.year is None and not _FOLLOWS.match(found.string, found.end()):
        return None
    return dates.resolve_date(partial, at.date(), read_direction(found), at.tzinfo)


_ORDINAL_END: Final = r"\d(?:st|nd|rd|th)\b"
_FOLLOWS: Final = re.compile(FOLLOW, re.I)


def date_range(found: re.Match[str], at: datetime) -> Interval | None:
    if not _FOLLOWS.match(found.string, found.end()):
        return None
    return dates.parse_range(found, at.date(), read_direction(found), at.tzinfo)


def year(found: re.Match[str], at: datetime) -> Interval | None:
    return spans.year_of(int(found["year"]), at.tzinfo)


def month(found: re.Match[str], at: datetime) -> Interval | None:
    word, pre = found["month"].rstrip("."), (found["pre"] or "").lower()
    if word[0].islower() and word in _VERBS and pre not in ("in", "during", "since"):
        return None
    if word.lower() in _NAMES and pre in ("before", "after", "by") and not _ENDS.match(found.string, found.end()):
        return None  # "after June left": more likely a person
    way = Direction.PAST if pre == "since" else read_direction(found)
    return dates.resolve_date(dates.PartialDate(month=find_month(word)), at.date(), way, at.tzinfo)


_ENDS: Final = re.compile(r"\s*$|[.,;!?)]")


def ago(found: re.Match[str], at: datetime) -> Interval | None:
    low, high = parse_count(found["count"])
    fuzz, unit = (found["fuzz"] or "").strip().lower(), singular(found["unit"])
    if fuzz in ("about", "around", "approximately", "roughly", "almost", "nearly") and low > 1:
        return relative.ago(low - 1, high + 1, unit, at)
    return None if fuzz and fuzz not in ("about", "around", "almost", "nearly") else relative.ago(low, high, unit, at)


def singular(unit: str) -> str:
    unit = unit.lower()
    return unit[:-1] if unit.endswith("s") else unit


_DAY_WORDS: Final = {
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "this": 0,
    "last": -1,
    "tonight": 0,
    "day before yesterday": -2,
    "day after tomorrow": 2,
}


def day_word(found: re.Match[str], at: datetime) -> Interval | None:
    word = re.sub(r"\s+", " ", found["word"].lower()).removeprefix("the ")
    day, part = at.date() + timedelta(days=_DAY_WORDS[word]), _optional_group(found, "part")
    if word == "tonight":
        return None if at.hour < 5 else spans.part_of_day(day, "night", at.tzinfo)
    return spans.part_of_day(day, part.lower(), at.tzinfo) if part else spans.day_of(day, at.tzinfo)


def unit(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "last week", "this month", "next year". "this past" and "the last" count back from today instead."""
    which, unit = found["which"].lower(), found["unit"].lower()
    rolls = found["the"] or which in ("past", "coming")
    if unit == "weekend":
        return relative.weekend_relative({"past": "last", "coming": "this"}.get(which, which), at)
    if rolls and which in ("last", "past"):
        return relative.rolling(1, unit, at, -1)
    if rolls and which in ("next", "coming"):
        return relative.rolling(1, unit, at, 1) if found["within"] or which == "coming" else None
    step = {"last": -1, "this": 0, "next": 1}[which]
    return relative.unit_of(relative.shift(at.date(), unit, step), unit, at.tzinfo)


def rolling(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "the past three months" and "the next two weeks", but not in a story ("he spent the next two weeks
    abroad").
    """
    _, high = parse_count(found["count"])
    back = found["which"].lower() in ("last", "past")
    if not back and read_direction(found) is Direction.PAST:
        return None
    if not back and re.search(r"\bwould\b", found.string[max(0, found.start() - 40) : found.start()], re.I):
        return None
    return relative.rolling(high, singular(found["unit"]), at, -1 if back else 1)


def _which(word: str) -> str:
    word = word.lower().removeprefix("this ").strip()
    return "last" if word == "past" else word or "this"


def named(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "last Friday", "this summer", "next May", "last Christmas"."""
    which, name = _which(found["which"]), found["name"]
    low = name.lower().rstrip(".")
    if low in SEASONS:
        return relative.season_relative(which, SEASONS[low], at)
    if low.replace("’", "'") in HOLIDAYS:
        return _holiday_relative(which, HOLIDAYS[low.replace("’", "'")], at)
    if low in ("sun", "sat", "mon", "wed", "may", "march", "jan", "mar", "dec") and name[0].islower():
        return relative.month_relative(which, 5, at) if low == "may" and which != "this" else None
    if re.fullmatch(WEEKDAY, name, re.I):
        day = relative.weekday_of(which, find_weekday(low), at)
        return _with_part(day, found["part"], at)
    if not _FOLLOWS.match(found.string, found.end()):
        return None
    return relative.month_relative(which, find_month(low), at)


def _with_part(day: Interval | None, part: str | None, at: datetime) -> Interval | None:
    if day is None or part is None or day.start is None:
        return day
    return spans.part_of_day(day.start.date(), part.lower(), at.tzinfo)


def _holiday_relative(which: str, holiday: tuple[int, int], at: datetime) -> Interval | None:
    this_year = date(at.year, *holiday)
    if which == "last":
        return spans.day_of(this_year if this_year < at.date() else date(at.year - 1, *holiday), at.tzinfo)
    if which == "this":
        return None if holiday == (1, 1) else spans.day_of(this_year, at.tzinfo)
    return spans.day_of(date(at.year + 1, *holiday), at.tzinfo) if this_year <= at.date() else None


def holiday(found: re.Match[str], at: datetime) -> Interval | None:
    month, day = HOLIDAYS[found["name"].lower().replace("’", "'")]
    year = int(found["year"]) if _optional_group(found, "year") else None
    way = Direction.UNKNOWN if year else read_direction(found)
    return dates.resolve_date(dates.PartialDate(year=year, month=month, day=day), at.date(), way, at.tzinfo)


def season(found: re.Match[str], at: datetime) -> Interval | None:
    """Read a season with its year. A winter needs both years, because "winter 2022" may begin or end in 2022."""
    first, year = SEASONS[found["season"].lower()], int(found["year"])
    if (first == 12) == (found["second"] is None):
        return None
    if found["second"] and int(found["second"][-2:]) != (year + 1) % 100:
        return None
    return spans.season_of(year, first, at.tzinfo)


def quarter(found: re.Match[str], at: datetime) -> Interval | None:
    order = found["digit"] or found["digit_last"] or ORDINALS[found["nth"].lower()]
    year = int(found["year"] or found["year_first"])
    return spans.season_of(year, 3 * int(order) - 2, at.tzinfo)


def decade(found: re.Match[str], at: datetime) -> Interval | None:
    digits = found["digits"]
    return spans.decade_of(int(digits if len(digits) == 4 else "19" + digits), at.tzinfo)


def short_decade(found: re.Match[str], at: datetime) -> Interval | None:
    around = found.string[max(0, found.start() - 60) : found.end() + 40]
    return None if re.search(r"degrees|°|temperature|weather|heat|humid|scor", around, re.I) else decade(found, at)


def weekday_of_week(found: re.Match[str], at: datetime) -> Interval | None:
    word, which = (found["day_a"], found["which_a"]) if found["day_a"] else (found["day_b"], found["which_b"])
    monday = at.date() - timedelta(days=at.weekday()) + timedelta(days={"last": -7, "next": 7}.get(which.lower(), 0))
    return spans.day_of(monday + timedelta(days=find_weekday(word)), at.tzinfo)


def nth_weekday(found: re.Match[str], at: datetime) -> Interval | None:
    nth, weekday = ORDINALS[found["nth"].lower()], find_weekday(found["weekday"])
    month = date(int(found["year"]), find_month(found["month"]), 1)
    if nth < 0:
        return spans.day_of(relative.weekday_before(spans.add_months(month, 1), weekday), at.tzinfo)
    first = relative.weekday_after(month - timedelta(days=1), weekday)
    return spans.day_of(first + timedelta(days=7 * (nth - 1)), at.tzinfo)


def weekday(found: re.Match[str], at: datetime) -> Interval | None:
    pre = found["pre"].lower()
    way = Direction.PAST if pre == "since" else read_direction(found)
    return _with_part(relative.weekday_towards(find_weekday(found["weekday"]), at, way), found["part"], at)


def weekend(found: re.Match[str], at: datetime) -> Interval | None:
    return relative.weekend_towards(at, read_direction(found))


def day_of_month(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "on the 14th" at the end of a clause as the nearest 14th in the direction of the verbs."""
    way, wanted = read_direction(found), int(found["day"])
    if way is Direction.UNKNOWN:
        return None
    for months in range(3):
        month = spans.add_months(at.date().replace(day=1), -months if way is Direction.PAST else months)
        try:
            day = month.replace(day=wanted)
        except ValueError:
            continue
        if day <= at.date() if way is Direction.PAST else day >= at.date():
            return spans.day_of(day, at.tzinfo)
    return None


def ahead(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "in two weeks" in a sentence about the future. In "I finished it in two weeks" it is a length, not a
    time.
    """
    if _optional_group(found, "inside") and not found["time"] and read_direction(found) is not Direction.FUTURE:
        return None
    low, high = parse_count(found["count"])
    unit = singular(found["unit"])
    if _optional_group(found, "inside") and not found["time"] and found["count"].lower() == "a" and unit == "day":
        return None  # "how far do you walk in a day"
    near, far = (relative.unit_of(relative.shift(at.date(), unit, n), unit, at.tzinfo) for n in (low, high))
    return near if low == high else spans.join(near, far)


def so_far(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "for three years now" as: since the year three years ago."""
    if _ROUGHLY.search(found.string, max(0, found.start() - 16), found.start()):
        return None
    since = relative.ago(parse_number(found["count"]), parse_number(found["count"]), singular(found["unit"]), at)
    return Interval(start=since.start, end=None, precision=since.precision)


_ROUGHLY: Final = re.compile(r"\b(?:under|over|almost|nearly|about|around|than|least|roughly|half)\s{1,3}$", re.I)
