"""The times of structured statements: a start and an end, each as exact as it is written (REMem, section 3.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Final

from recollect.domain.time import Interval
from recollect.text.when.iso import read_date
from recollect.text.when.words import MONTHS, month_number

Times = tuple[Interval | None, Interval | None]
"""Start and end; ``None`` is open, and a point in time stands in both."""

_YEAR: Final = r"[12]\d{3}(?!\d)"
_DAY: Final = r"(?:3[01]|[12]\d|0?[1-9])"
_ORDINAL: Final = r"(?:st|nd|rd|th)?"
_MONTH: Final = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_ISO: Final = r"[12]\d{3}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?)?(?![\d-])"
_WRITTEN: Final = re.compile(
    rf"(?:(?:the )?(?P<day>{_DAY}){_ORDINAL} (?:of )?)?(?P<month>{_MONTH}),? (?P<year>{_YEAR})"
    rf"|(?P<month_first>{_MONTH}) (?P<day_second>{_DAY}){_ORDINAL},? (?P<year_last>{_YEAR})",
    re.IGNORECASE,
)
_UNNAMED: Final = re.sub(r"\(\?P<[a-z_]+>", "(?:", _WRITTEN.pattern)
_DATE: Final = rf"(?:{_ISO}|{_UNNAMED}|{_YEAR})"
_OPEN: Final = r"(?:the )?present|now|today"
_TO: Final = r"(?:\s*[-–—]\s*| (?:to|until|till|through) )"
_TIMES: Final = (
    rf"(?:in|on) (?P<point>{_DATE})"
    rf"|from (?P<from>{_DATE})(?:{_TO}(?P<to>{_DATE}|{_OPEN})| on(?:wards?)?)"
    rf"|between (?P<between>{_DATE}) and (?P<and>{_DATE})"
    rf"|since (?P<since>{_DATE})"
    rf"|(?:until|till) (?P<until>{_DATE})"
    rf"|\((?P<inside>{_DATE})(?P<reach>{_TO}(?P<inside_to>{_DATE}|{_OPEN})?)?\)"
)
_AT_THE_END: Final = re.compile(rf",? (?:{_TIMES})\s*", re.IGNORECASE)
_AT_THE_HEAD: Final = re.compile(rf"(?:{_TIMES}), ", re.IGNORECASE)
_ENTRIES: Final = re.compile(r",? (?:in|on|from|between|since|until|till) |,? \(", re.IGNORECASE)
_OPEN_END: Final = re.compile(_OPEN, re.IGNORECASE)
_KEYS: Final = frozenset(("point_in_time", "start_time", "end_time"))


def timed(sentence: str, zone: tzinfo | None) -> tuple[str, Times | None]:
    """A sentence without its time, and that; both ends are open where it gives none that can be read here.

    The times are ``None`` where there is no such day, or it ends before it starts.
    """
    found = _AT_THE_HEAD.match(sentence)
    if found is not None:
        return sentence[found.end() :], _times_of(found, zone)
    for entry in _ENTRIES.finditer(sentence):
        found = _AT_THE_END.fullmatch(sentence, entry.start())
        if found is not None:
            return sentence[: entry.start()], _times_of(found, zone)
    return sentence, (None, None)


def read_times(given: Mapping[str, str], zone: tzinfo | None) -> Times | None:
    """Start and end by the names of the paper's qualifiers; what is blank is open, and a point is alone.

    ``None`` where one is no date, where there is a key that is none of these, or where it ends before it starts.
    """
    written = {key: value for key, value in given.items() if value}
    if not _KEYS.issuperset(written) or ("point_in_time" in written and len(written) > 1):
        return None
    point = written.get("point_in_time", "")
    return _read(point or written.get("start_time", ""), point or written.get("end_time", ""), zone)


def ordered(start: Interval | None, end: Interval | None) -> Times:
    """A start and an end.

    Raises:
        ValueError: it ends before it starts.
    """
    first = None if start is None else start.start
    last = None if end is None else end.end
    if first is not None and last is not None and last <= first:
        raise ValueError("it ends before it starts")
    return start, end


def _times_of(found: re.Match[str], zone: tzinfo | None) -> Times | None:
    parts = {name: text or "" for name, text in found.groupdict().items()}
    point = parts["point"] or (parts["inside"] if not parts["reach"] else "")
    start = point or parts["from"] or parts["between"] or parts["since"] or parts["inside"]
    end = point or parts["to"] or parts["and"] or parts["until"] or parts["inside_to"]
    return _read(start, end, zone)


def _read(start: str, end: str, zone: tzinfo | None) -> Times | None:
    try:
        return ordered(_date(start, zone), None if _OPEN_END.fullmatch(end) else _date(end, zone))
    except ValueError:
        return None


def _date(text: str, zone: tzinfo | None) -> Interval | None:
    """A date as it is written; ``None`` for none.

    Raises:
        ValueError: it cannot be read, or there is no such day.
    """
    if not text:
        return None
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return read_date(text, zone)
    year, month = found["year"] or found["year_last"], found["month"] or found["month_first"]
    day = found["day"] or found["day_second"]
    return read_date(f"{year}-{month_number(month):02}{f'-{int(day):02}' if day else ''}", zone)
