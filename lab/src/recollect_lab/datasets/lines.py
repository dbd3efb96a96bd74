"""Read a line of a JSON Lines file field by field. Every error has the number of the line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from recollect.errors import MalformedLine


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetLine:
    """A JSON object and the number of its line, counted from 1. Every method raises ``MalformedLine`` for a wrong
    field.
    """

    number: int
    fields: Mapping[str, object]

    def make_error(self, problem: str) -> MalformedLine:
        return MalformedLine(self.number, problem)

    def require_known(self, allowed: AbstractSet[str]) -> None:
        """Raise MalformedLine if the line has an unknown field, so that a misspelt name is noticed."""
        unknown = sorted(self.fields.keys() - allowed)
        if unknown:
            raise self.make_error(f"unknown field {unknown[0]!r}; the allowed fields are {', '.join(sorted(allowed))}")

    def read_text(self, name: str, default: str | None = None) -> str:
        """Return a string that is not blank.

        If the field is missing or null, return ``default``. If there is no default either, that is an error.
        """
        value = self.fields.get(name)
        if value is None:
            if default is None:
                raise self.make_error(f"{name!r} is missing")
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.make_error(f"{name!r} must be a string that is not blank")
        return value

    def read_texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings. It is empty if the field is missing or null."""
        value = self.fields.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.make_error(f"{name!r} must be a list of strings")
        return tuple(value)

    def read_flag(self, name: str) -> bool:
        """Return true if the field is true. It is false if the field is missing or null."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.make_error(f"{name!r} must be true or false")
        return bool(value)

    def read_moment(self, name: str) -> datetime | None:
        """Return an ISO 8601 time with its time zone, or ``None`` if the field is missing or null."""
        if self.fields.get(name) is None:
            return None
        text = self.read_text(name)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as exc:
            raise self.make_error(f"{name!r} is not an ISO 8601 time: {text!r}") from exc
        if moment.tzinfo is None:
            raise self.make_error(f"{name!r} has no zone: {text!r}; write {text}Z or {text}+02:00")
        return moment


def read_lines(text: str) -> Iterator[DatasetLine]:
    """Yield the objects of a JSON Lines text. Blank lines are skipped.

    Raises:
        MalformedLine: a line is not JSON, or not an object.
    """
    for number, raw in enumerate(text.split("\n"), 1):  # not splitlines(): JSON strings may contain U+2028
        if not raw.strip():
            continue
        try:
            value = json.loads(raw)
        except json.JSONDecodeError as exc:
            raise MalformedLine(number, f"not JSON: {exc.msg} at column {exc.colno}") from exc
        if not isinstance(value, dict):
            raise MalformedLine(number, "not a JSON object")
        yield DatasetLine(number=number, fields=value)
