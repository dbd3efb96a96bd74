"""Check what callers give. Every value that enters the library from outside passes one of these functions.

They raise :class:`recollect.errors.InvalidInput`, and say what was given and what to give instead. Values that a store
already holds are not checked, so that a bank stays readable whatever an earlier version let in.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from enum import StrEnum
from reprlib import Repr
from typing import Final, TypeVar

from recollect.domain.time import FIRST_MICROS, FIRST_MOMENT, LAST_MICROS, LAST_MOMENT, Interval, from_micros, to_micros
from recollect.errors import InvalidInput, NaiveDatetime

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

HIGHEST_COUNT: Final = 2**63 - 1

_LONGEST_S: Final = 1e9  # thirty years

_REPR: Final = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


def quote_value(value: object) -> str:
    """Return a value as an error message quotes it: not too long, and never with an error of its own."""
    try:
        return _REPR.repr(value)
    except Exception:  # a class of the caller's may do anything in __repr__
        return f"a value of type {type(value).__name__}"


def require_type(name: str, value: object, kind: type[T], noun: str) -> T:
    """Return the value, if it has the type. ``noun`` names the type with its article."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidInput(f"{name} is {quote_value(value)}, which is not {noun}")
    return value


def require_text(name: str, value: object) -> str:
    """Return a string that can be stored as UTF-8."""
    text = require_type(name, value, str, "a string")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise InvalidInput(
                f"{name} contains a lone surrogate at character {exc.start}, which no file can store. "
                "Decode the text again, or replace the surrogate with '\\ufffd'"
            ) from exc
    return text


def require_key(name: str, value: object) -> str:
    """Return a string that can be stored and searched for: it has no NUL character."""
    text = require_text(name, value)
    if "\0" in text:
        raise InvalidInput(f"{name} {quote_value(text)} contains a NUL character, which cannot be stored. Remove it")
    return text


def require_texts(name: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """Return one string or several strings as a tuple."""
    if isinstance(given, str):
        return (require_text(name, given),)
    return tuple(require_text(name, one) for one in require_iterable(name, given))


def require_iterable(name: str, given: Iterable[T]) -> Iterable[T]:
    """Return something that can be iterated over, and is not a string."""
    if isinstance(given, str | bytes) or not hasattr(type(given), "__iter__"):
        raise InvalidInput(f"{name} is {quote_value(given)}, which is not a list of values")
    return given


def require_all(name: str, given: Iterable[object], kind: type[T]) -> list[T]:
    """Return values of one type as a list."""
    return [
        require_type(f"{name}[{n}]", one, kind, f"a {kind.__name__}")
        for n, one in enumerate(require_iterable(name, given))
    ]


def require_count(name: str, value: object) -> int:
    """Return a whole number from 1 to :data:`HIGHEST_COUNT`."""
    number = require_type(name, value, int, "a whole number")
    if not 1 <= number <= HIGHEST_COUNT:
        raise InvalidInput(f"{name} is {quote_value(number)}; it must be at least 1 and at most {HIGHEST_COUNT:,}")
    return number


def require_seconds(name: str, value: object) -> float:
    """Return a number of seconds over 0, which is not infinite."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST_S:
        return float(value)
    raise InvalidInput(f"{name} is {quote_value(value)}; it must be a number of seconds over 0, or None for no limit")


def require_member(name: str, kind: type[E], value: object) -> E:
    """Return the member of an enum that has a value."""
    if isinstance(value, str):
        for member in kind:
            if member == value:
                return member
    raise InvalidInput(
        f"{name}: {quote_value(value)} is not a value of {kind.__name__}. The values are: {', '.join(kind)}"
    )


def require_moment(name: str, value: object) -> datetime:
    """Return an aware time that exists, not at the ends of the calendar.

    Raises:
        NaiveDatetime: the time has no zone.
        InvalidInput: it is no time, it is not between FIRST_MOMENT and LAST_MOMENT, or the clocks of its zone skip it.
    """
    moment = _require_usable(name, value)
    if not isinstance(moment.tzinfo, timezone):
        wall = from_micros(to_micros(moment)).astimezone(moment.tzinfo)
        if wall.replace(tzinfo=None) != moment.replace(tzinfo=None):
            raise InvalidInput(
                f"{name} is {moment.isoformat()}, which the clocks of {moment.tzinfo} skip. Give {wall.isoformat()}"
            )
    return moment


def require_interval(name: str, value: object) -> Interval:
    """Return an interval that is not at the ends of the calendar. A day may begin at a midnight that clocks skip."""
    interval = require_type(name, value, Interval, "an Interval")
    for end, moment in (("start", interval.start), ("end", interval.end)):
        if moment is not None:
            _require_usable(f"{name}.{end}", moment)
    return interval


def _require_usable(name: str, value: object) -> datetime:
    moment = require_type(name, value, datetime, "a datetime")
    try:
        naive, micros = moment.utcoffset() is None, 0 if moment.tzinfo is None else to_micros(moment)
    except Exception as exc:  # a zone of the caller's may do anything
        raise InvalidInput(f"{name} has a zone that does not work: {exc}") from exc
    if naive:
        raise NaiveDatetime(name)
    if not FIRST_MICROS <= micros <= LAST_MICROS:
        raise InvalidInput(
            f"{name} is {moment.isoformat()}, at the end of the calendar. Give the real time, "
            f"between the years {FIRST_MOMENT.year} and {LAST_MOMENT.year}"
        )
    return moment
