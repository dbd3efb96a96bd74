"""Number the lines of an input, and read the JSON in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recollect.errors import InvalidInput, MalformedLine


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLine:
    """A line without its line end and without a byte order mark. ``number`` counts from 1."""

    number: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


def number_lines(stream: Iterable[str]) -> Iterator[InputLine]:
    """Yield the lines of an open text file, or of any iterable of lines. It reads no further than the caller asks.

    Raises:
        InvalidInput: the input is not text, or not in the encoding with which the file was opened.
    """
    number = 0
    try:
        for raw in stream:
            number += 1
            if not isinstance(raw, str):
                raise InvalidInput(f"line {number}: {type(raw).__name__} instead of text; open the file in text mode")
            # A mark may also stand further down, where files were put together with `cat`.
            yield InputLine(number=number, text=raw.removesuffix("\n").removesuffix("\r").removeprefix("\ufeff"))
    except UnicodeDecodeError as exc:
        # Files are decoded in blocks, so that the line itself is not known.
        raise InvalidInput(
            f"after line {number}: not {exc.encoding} ({exc.reason}); save the file as UTF-8, "
            f"for example with: iconv -f WINDOWS-1252 -t UTF-8"
        ) from exc


def parse_json(text: str, first_line: int = 1) -> object:
    """Return the JSON value of a text that begins on line ``first_line``. Raw control characters in strings are
    allowed.

    Raises:
        MalformedLine: the text is not JSON, or an object has a key twice, so that one value would be lost.
    """
    try:
        value: object = json.loads(text, strict=False, object_pairs_hook=_refuse_repeated_keys)
    except json.JSONDecodeError as exc:
        raise MalformedLine(first_line + exc.lineno - 1, f"not JSON: {exc.msg} at column {exc.colno}") from exc
    except RecursionError as exc:
        raise MalformedLine(first_line, "JSON that is nested too deeply") from exc
    except ValueError as exc:  # a repeated key, or a number of thousands of digits
        raise MalformedLine(first_line, str(exc)) from exc
    return value


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {quote_value(repeated)} stands twice in one object; leave one of them out")
    return found


def quote_value(value: object) -> str:
    """Return a value as an error message quotes it: on one line and not too long."""
    try:
        text = repr(value)
    except RecursionError:  # JSON may be nested as deeply as can just be read, and not shown
        return "something that is nested too deeply"
    return text if len(text) <= 60 else f"{text[:57]}..."
