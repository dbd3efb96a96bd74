"""The English time words, and the pieces of regular expressions from which the rules are built.

Every repetition in a piece has a bound. So a rule reads a bounded part of the text from its start, and a scan takes
linear time for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final


def split_words(words: str) -> tuple[str, ...]:
    """Split a string at blanks. The tables of words below are written as strings, because these are easy to read."""
    return tuple(words.split())


ENGLISH_MONTHS: Final = split_words(
    "January February March April May June July August September October November December"
)
ENGLISH_WEEKDAYS: Final = split_words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tues tue",
            "wednesday weds wed",
            "thursday thurs thur thu",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
SEASONS: Final = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
HOLIDAYS: Final = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "xmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new years eve": (12, 31),
    "new year's day": (1, 1),
    "new years day": (1, 1),
    "valentine's day": (2, 14),
    "valentines day": (2, 14),
    "halloween": (10, 31),
}
ORDINALS: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}

_UNITS = split_words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = split_words("twenty thirty forty fifty sixty seventy eighty ninety")
_NUMBERS: Final = (
    {"a": 1, "an": 1, "the": 1}
    | {word: number for number, word in enumerate(_UNITS, start=1)}
    | {word: 10 * number for number, word in enumerate(_TENS, start=2)}
)
# The lowest and the highest value of a vague count. The range is wide, because the interval must contain the truth.
VAGUE: Final = {"couple": (2, 3), "few": (2, 6), "several": (3, 8)}

# The words with which counts, units and holidays can begin. ``#`` stands for digits.
COUNTS: Final = frozenset(_NUMBERS).union(VAGUE, "#") - {"the"}
UNITS: Final = frozenset(
    f"{unit}{plural}" for unit in split_words("day night week weekend fortnight month year") for plural in ("", "s")
)
HOLIDAY_STARTS: Final = frozenset(re.split(r"['\s]", name)[0] for name in HOLIDAYS) | {"valentines"}


def parse_number(words: str) -> int:
    """Return the value of a number in digits or in words, as the pattern ``NUMBER`` matches it.

    Raises:
        ValueError: a word is not the word for a number.
    """
    words = words.lower()
    if words.isdecimal():
        return int(words)
    try:
        return sum(_NUMBERS[part] for part in re.split(r"[-\s]+", words))
    except KeyError:
        raise ValueError(f"not a number: {words!r}") from None


def parse_count(words: str) -> tuple[int, int]:
    """Return the lowest and the highest value of a count, as the pattern ``COUNT`` matches it.

    They are equal if the count is exact."""
    for word, bounds in VAGUE.items():
        if word in words.lower():
            return bounds
    exact = parse_number(words)
    return exact, exact


def find_month(word: str) -> int:
    """Return the number of a month, from 1 to 12, for text that the pattern ``MONTH`` matches."""
    return MONTHS[word.lower().rstrip(".")]


def find_weekday(word: str) -> int:
    """Return the number of a weekday, from 0 (Monday) to 6, for text that the pattern ``WEEKDAY`` matches."""
    return WEEKDAYS[word.lower().rstrip(".")]


def join_alternatives(names: Iterable[str]) -> str:
    """Return a group of the names. The longest name comes first, so that no name hides another."""
    return "(?:" + "|".join(sorted(names, key=lambda name: (-len(name), name))) + ")"


S: Final = r"\s{1,3}"
MONTH: Final = join_alternatives(MONTHS) + r"\b\.?"
WEEKDAY: Final = join_alternatives(WEEKDAYS) + r"\b\.?"
FULL_WEEKDAY: Final = join_alternatives(name for name in WEEKDAYS if name.endswith("day"))
SEASON: Final = join_alternatives(SEASONS)
HOLIDAY: Final = "(?:" + "|".join(name.replace("'", "['’]") for name in HOLIDAYS) + ")"
YEAR: Final = r"(?:1[5-9]\d\d|20\d\d)"
DAY: Final = r"(?:3[01]|[12]\d|0?[1-9])"
_TENS_UNITS: Final = rf"{join_alternatives(_TENS)}(?:[-\s]{join_alternatives(_UNITS[:9])})?"
NUMBER: Final = rf"(?:\d{{1,5}}|an?|{_TENS_UNITS}|{join_alternatives(_UNITS)})"
COUNT: Final = rf"(?:(?:a{S})?couple(?:{S}of)?|(?:a{S})?few|several|{NUMBER})"
PART: Final = "(?:morning|afternoon|evening|night)"
# The text that may follow a bare number or month that is a time: "in 2022 we moved", never "in 2022 steps".
FOLLOW: Final = (
    r"(?=\s*$|['’]s\b|[—–…)\]\"”]|[^\w\s%'’-](?!\w)|\s+(?:[^\w\s%$]|(?:i|we|he|she|they|it|you|my|our|his|her|their|its|"
    r"your|the|an?|and|but|or(?!\sso)|so|because|when|while|where|which|that|this|these|those|there|then|who|with|without|for|"
    r"from|to|at|on|in|by|before|after|until|as|if|since|was|were|is|are|will|would|had|has|have|did|do|does|not|just|"
    r"about|around|during|through|me|us|too|also|again|alone|ago|until|till|onwards?|i['’]\w{1,2}|(?-i:[A-Z]\w*))\b))"
)
