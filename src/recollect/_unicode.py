"""Normalise Unicode text in linear time."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final, Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_JOINER: Final = "\u034f"  # it shows nothing, and no mark moves across it
_MOST_MARKS: Final = 30
_MAYBE_MARKS: Final = re.compile(rf"[^\w\x00-\x7f]{{{_MOST_MARKS + 1}}}")
_LAST_MARK: Final = 0x1FFFF


def normalize_unicode(form: Form, text: str) -> str:
    """Return the normal form of a text. More than 30 marks in a row are separated by a grapheme joiner (U+034F).

    Unicode sorts the marks of a letter, and Python does this in quadratic time. No language puts more than a few marks
    on a letter. The joiner is the one of Unicode's "Stream-Safe Text Format" (UAX 15), which allows 30 marks.
    """
    if text.isascii():
        return text
    if _MAYBE_MARKS.search(text):
        text = _long_run().sub(rf"\g<0>{_JOINER}", text)
    return unicodedata.normalize(form, text)


@cache
def _long_run() -> re.Pattern[str]:
    """Return the pattern of 30 marks that are followed by another one."""
    marks = _write_ranges(code for code in range(0x300, _LAST_MARK) if _begins_with_mark(chr(code)))
    return re.compile(rf"[{marks}]{{{_MOST_MARKS}}}(?=[{marks}])")


def _begins_with_mark(character: str) -> bool:
    """Return true if a character is a mark, or is taken apart into marks."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0


def _write_ranges(codes: Iterable[int]) -> str:
    """Return ordered codes as the inside of a character class."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
