"""Parse the calls that a model writes. A call that cannot be made becomes a correction that the model understands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Final

from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Aggregation, Comparison, Ordering, TimeFilter
from recollect.methods.remem.schemas import Argument, Tool, ToolDescription, describe_tool
from recollect.text.time_expressions import find_times
from recollect.text.time_expressions.iso import parse_iso_date

Value = str | int

_MOST: Final = 2**31 - 1  # more than any list has, and less than the largest integer of a store
_PLACES: Final = ("subject", "predicate", "object")
_OPERATORS: Final = {"start_operator": Comparison.GE, "end_operator": Comparison.LE}
_TO_THE_MINUTE: Final = re.compile(r"[T ]\d\d:\d\d(?!:\d)(?:Z|[+-]|\s*$)")
_CLOCK: Final = re.compile(r",? (?P<hour>\d{1,2}):(?P<minute>\d{2})(?: ?(?P<half>[ap])m)?$", re.I)


class InvalidCall(ValueError):
    """The error for a call that cannot be made. Its message is for the model, and says what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A parsed call. An argument that the call leaves out is "" or ``None``, or 0 for ``offset``.

    ``gist`` is a number that an observation has shown, or an item's id.
    """

    tool: Tool
    query: str = ""
    gist: Value = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    when: TimeFilter | None = None
    limit: int | None = None
    offset: int = 0
    ordering: Ordering | None = None
    aggregation: Aggregation | None = None
    answer: str = ""


def drop_blank_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments that have a value. ``None`` and blank text count as left out.

    Raises:
        Misunderstood: the arguments are not a mapping of names to values.
    """
    if not isinstance(arguments, Mapping):
        raise InvalidCall(f"the arguments {arguments!r} are no JSON object of names and values")
    return {name: value for name, value in arguments.items() if not _is_blank(value)}


def parse_call(name: str, arguments: Mapping[str, object], now: datetime) -> ToolCall:
    """Parse a call. Dates without a zone are read in the zone of ``now``.

    Raises:
        Misunderstood: the tool or an argument does not exist, a required argument is missing, or a value cannot be
            read.
    """
    described_ = _find_tool(name)
    read = {
        key: _parse_value(_find_argument(described_, key), value)
        for key, value in drop_blank_arguments(arguments).items()
    }
    _require_arguments(described_, read)
    texts = {key: str(read.get(key, "")) for key in ("query", *_PLACES, "answer")}
    limit = read.get("limit")
    return ToolCall(
        tool=described_.tool,
        gist=read.get("gist_id", ""),
        when=_parse_time_filter(read, now),
        limit=None if limit is None else _require_at_least("limit", limit, 1),
        offset=_require_at_least("offset", read.get("offset", 0), 0),
        ordering=Ordering(str(read["ordering"])) if "ordering" in read else None,
        aggregation=Aggregation(str(read["aggregation"])) if "aggregation" in read else None,
        **texts,
    )


def read_time(text: str, now: datetime) -> Interval:
    """Read a time as a model writes it: a whole or partial ISO date, or words ("20 January 2025", "the 1950s").

    A time of day without seconds means the whole minute, in ISO form and in words.

    Raises:
        ValueError: the text is not a time with a beginning and an end.
    """
    try:
        return _parse_iso(text, now.tzinfo)
    except ValueError:
        found = _parse_words(text, now)
    if found is None:
        raise ValueError(f"{text!r} is no time that can be read; write 2023, 2023-07, 2023-07-09 or May 2023")
    return found


def _parse_iso(text: str, zone: tzinfo | None) -> Interval:
    time = parse_iso_date(text, zone)
    if time.start is None or not _TO_THE_MINUTE.search(text):
        return time
    return replace(time, end=time.start + timedelta(minutes=1))


def _parse_words(text: str, now: datetime) -> Interval | None:
    """Return the time that all of the words mean together, or ``None``. A day with a time of day is one minute."""
    clock = _CLOCK.search(text)
    words = text[: clock.start()] if clock else text
    found = find_times(words, now)
    if len(found) != 1 or found[0].span != (0, len(words)):
        return None
    time = found[0].interval
    if time.start is None or time.end is None:
        return None
    return time if clock is None else _minute_interval(time, clock)


def _minute_interval(day: Interval, clock: re.Match[str]) -> Interval | None:
    """Return the minute of a day at a time such as "2:28 pm", or ``None`` if there is no such minute.

    Gists begin with such times.
    """
    hour, minute, half = int(clock["hour"]), int(clock["minute"]), (clock["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0) if 1 <= hour <= 12 else 24
    if day.precision is not Precision.DAY or day.start is None or hour > 23 or minute > 59:
        return None
    start = day.start.replace(hour=hour, minute=minute)
    return Interval(start=start, end=start + timedelta(minutes=1), precision=Precision.INSTANT)


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _find_tool(name: str) -> ToolDescription:
    try:
        return describe_tool(Tool(name))
    except ValueError:
        raise InvalidCall(f"there is no tool {name!r}; there are: {', '.join(Tool)}") from None


def _find_argument(tool: ToolDescription, name: str) -> Argument:
    for argument in tool.arguments:
        if argument.name == name:
            return argument
    known = ", ".join(one.name for one in tool.arguments)
    raise InvalidCall(f"{tool.tool} has no argument {name!r}; it takes: {known}")


def _parse_value(argument: Argument, value: object) -> Value:
    """Return the value of an argument in its type. A number may be written as text, and a text as a number."""
    if argument.name == "gist_id":
        return _parse_integer(value) or _parse_text(argument, value)
    if argument.type == "integer":
        number = _parse_integer(value)
        if number is None:
            raise InvalidCall(f"{argument.name} is {value!r}; it is a whole number, such as 1")
        return number
    text = _parse_text(argument, value)
    if argument.choices and text not in argument.choices:
        raise InvalidCall(f"{argument.name} is {text!r}; it is one of: {', '.join(argument.choices)}")
    return text


def _parse_integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,9}\s*", value):
        return int(value)
    return value if isinstance(value, int) else None


def _parse_text(argument: Argument, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidCall(f"{argument.name} is {value!r}; it is text")
    return str(value).strip().encode("utf-8", "replace").decode()  # a lone surrogate can be neither stored nor found


def _require_arguments(tool: ToolDescription, read: Mapping[str, Value]) -> None:
    missing = [one.name for one in tool.arguments if one.required and one.name not in read]
    if missing:
        raise InvalidCall(f"{tool.tool} needs {' and '.join(missing)}")
    if tool.tool is Tool.ENTITY and not any(place in read for place in _PLACES):
        raise InvalidCall(f"{tool.tool} needs at least one of {', '.join(_PLACES)}")


def _parse_time_filter(read: Mapping[str, Value], now: datetime) -> TimeFilter | None:
    start, end = _parse_time("start_time", read, now), _parse_time("end_time", read, now)
    if start is None and end is None:
        return None
    # An operator without a time is dropped, so that two calls with the same meaning are equal.
    return TimeFilter(
        start=start,
        start_operator=_parse_operator("start_operator", read if start else {}),
        end=end,
        end_operator=_parse_operator("end_operator", read if end else {}),
    )


def _parse_operator(name: str, read: Mapping[str, Value]) -> Comparison:
    return Comparison(str(read[name])) if name in read else _OPERATORS[name]


def _parse_time(name: str, read: Mapping[str, Value], now: datetime) -> Interval | None:
    if name not in read:
        return None
    try:
        return read_time(str(read[name]), now)
    except ValueError as exc:
        raise InvalidCall(f"{name}: {exc}") from exc


def _require_at_least(name: str, value: Value, least: int) -> int:
    number = int(value)
    if number < least:
        raise InvalidCall(f"{name} is {number}; it is at least {least}")
    return min(number, _MOST)
