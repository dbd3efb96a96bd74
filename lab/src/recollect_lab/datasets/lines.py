"""One line of a JSON Lines file, read field by field; every complaint carries the line's number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from recollect.errors import MalformedLine


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetLine:
    """A JSON object and the number of its line, counted from 1. Every method raises ``MalformedLine``."""

    number: int
    fields: Mapping[str, object]

    def make_error(self, problem: str) -> MalformedLine:
        return MalformedLine(self.number, problem)

    def require_known(self, allowed: AbstractSet[str]) -> None:
        """Refuse fields that nobody reads: a misspelt name must not be lost in silence."""
        unknown = sorted(self.fields.keys() - allowed)
        if unknown:
            raise self.make_error(f"unknown field {unknown[0]!r}; known here are {', '.join(sorted(allowed))}")

    def read_text(self, name: str, default: str | None = None) -> str:
        """A string that is not blank; ``default`` where there is none (or null), an error where there is no default."""
        value = self.fields.get(name)
        if value is None:
            if default is None:
                raise self.make_error(f"{name!r} is missing")
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.make_error(f"{name!r} must be a string with something in it")
        return value

    def read_texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; empty where there is none (or null)."""
        value = self.fields.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.make_error(f"{name!r} must be a list of strings")
        return tuple(value)

    def read_flag(self, name: str) -> bool:
        """Whether it is true; false where there is none (or null)."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.make_error(f"{name!r} must be true or false")
        return bool(value)

    def read_moment(self, name: str) -> datetime | None:
        """An ISO 8601 time with its zone, or ``None`` where there is none (or null)."""
        if self.fields.get(name) is None:
            return None
        text = self.read_text(name)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as exc:
            raise self.make_error(f"{name!r} is no ISO 8601 time: {text!r}") from exc
        if moment.tzinfo is None:
            raise self.make_error(f"{name!r} has no zone: {text!r}; write {text}Z or {text}+02:00")
        return moment


def read_lines(text: str) -> Iterator[DatasetLine]:
    """The objects of a JSON Lines text; blank lines are passed over.

    Raises:
        MalformedLine: a line is not JSON, or not an object.
    """
    for number, raw in enumerate(text.split("\n"), 1):  # not splitlines(): JSON strings may hold U+2028
        if not raw.strip():
            continue
        try:
            value = json.loads(raw)
        except json.JSONDecodeError as exc:
            raise MalformedLine(number, f"not JSON: {exc.msg} at column {exc.colno}") from exc
        if not isinstance(value, dict):
            raise MalformedLine(number, "not a JSON object")
        yield DatasetLine(number=number, fields=value)
