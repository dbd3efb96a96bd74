"""Texts that are written to make a reader slow: each is a function of its length in characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final


def _repeat(unit: str, length: int) -> str:
    return unit * (length // len(unit))  # no part of a unit, which would be another word


def _wrap(opening: str, unit: str, closing: str, length: int) -> str:
    return opening + _repeat(unit, length) + closing


def _nest(opening: str, closing: str, length: int) -> str:
    depth = length // (len(opening) + len(closing))
    return opening * depth + closing * depth


_UNITS: Final = {
    "letters": "a",
    "capitals": "A",
    "digits": "1",
    "blanks": " ",
    "line ends": "\n",
    "single letters": "a ",
    "names": "Ada Lovelace ",
    "hyphened names": "Ada-",
    "names of names": "Aa of ",
    "initials with numbers": "A 1.",
    "apostrophes": "a'",
    "possessives": "Ada's ",
    "handles": "@a.",
    "sentences": "I went home. ",
    "shouted words": "AAA BBB ",
    "straight quotes": '"',
    "inches": '6" ',
    "open guillemets": "«",
    "open low quotes": "„",
    "quoted titles": '"The A of ',
    "open angles": "<",
    "open tags": "<a ",
    "closed tags": "</a>",
    "angles with signs": "<!&",
    "dashes": "-",
    "dots": ".",
    "dotted letters": "a.b",
    "slashes": "/",
    "numbers": "12 ",
    "grouped numbers": "1,000 ",
    "dates": "on May 1 ",
    "iso dates": "2023-05-01 ",
    "date ranges": "from May 1 to May 2 ",
    "weekdays": "on Friday ",
    "ago": "two weeks ago ",
    "counts": "how long ",
    "months": "in May ",
    "the": "the ",
    "in": "in ",
    "numbered words": "3 may ",
    "german": "der vor ",
    "foreign days": "3 abcd 20",
    "falling marks": "\u0301\u0316",
    "letters with marks": "a\u0301\u0316\u0327",
    "ligatures": "\ufdfa",
    "hangul parts": "\u1100\u1161\u11a8",
    "chinese": "田中",
    "joined emoji": "👩\u200d",
    "invisible": "\u200b",
    "fillers": "\u115f",
    "fences": "```\n",
    "json lists": "[",
    "json objects": '{"a":',
    "chat lines": "Ada: hi\n",
    "stamped lines": "[2023-07-11 18:05] Ada: hi\n",
    "vegans": "not a b vegan ",
    "deadlines": "deadline ",
    "you": "you are ",
}
HOSTILE: Final[Mapping[str, Callable[[int], str]]] = {
    **{name: partial(_repeat, unit) for name, unit in _UNITS.items()},
    "marks on a letter": partial(_wrap, "a", "\u0301\u0316", "b"),
    "unclosed quote": partial(_wrap, "“", "a ", ""),
    "unclosed fence": partial(_wrap, "```json\n", "a\n", ""),
    "nested quotes": partial(_nest, "«", "»"),
    "nested low quotes": partial(_nest, "„“", "”"),
    "nested lists": partial(_nest, "[", "]"),
    "blanks before a word": partial(_wrap, "", " ", "x"),
    "slash at the end": partial(_wrap, "<", " ", "/"),
}
"""The texts by name."""
