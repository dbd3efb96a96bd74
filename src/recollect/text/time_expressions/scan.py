"""Find the expressions of the rules in a text, and the words before them that open an end ("since", "until")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from recollect.domain.time import Interval
from recollect.text.time_expressions.rules import Rule, index_rules
from recollect.text.time_expressions.words import MONTHS, SEASONS, WEEKDAYS, split_words

# A text with more hits is a list or an attack. The rest stays unread, so that the running time has a bound.
MAX_EXPRESSIONS: Final = 32
MAX_WORDS: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMention:
    """A time expression: its words, their place in the text, and the interval that they mean."""

    text: str
    span: tuple[int, int]
    interval: Interval


_TRIGGERS: Final = frozenset(
    split_words(
        "today yesterday tomorrow tonight ago now morning afternoon evening night nights minute minutes min mins hour "
        "hours day days week weeks weekend weekends fortnight month months year years quarter christmas "
        "xmas valentine valentines halloween"
    )
).union(MONTHS, SEASONS, WEEKDAYS, (f"{weekday}s" for weekday in WEEKDAYS))
_WORD: Final = re.compile(r"\w+")
# ASCII in lower case, with blanks between words. Translating is three times as fast as matching.
_ASCII_WORDS: Final = bytes(ord(chr(code).lower()) if _WORD.match(chr(code)) else 32 for code in range(128)).ljust(256)
# A digit or a word. The checks of the text before it stand after its first character. So the search skips from one
# letter or digit to the next and does not try every character.
_START: Final = re.compile(r"[A-Za-z\d](?<![\w$€£#].)(?<!\d[.,/:-].)(?<!\w[/-].)[A-Za-z]*")


def find_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text in lower case."""
    if text.isascii():
        return frozenset(text.encode().translate(_ASCII_WORDS).decode().split())
    return frozenset(_WORD.findall(text.lower()))


def may_tell_time(words: frozenset[str]) -> bool:
    """Return true if a rule of English could match. For most messages one set lookup shows that none can."""
    return not _TRIGGERS.isdisjoint(words) or has_digit(words)


def has_digit(words: frozenset[str]) -> bool:
    return bool(words) and not "".join(words).isalpha()


def scan_times(text: str, at: datetime) -> Iterator[TimeMention]:
    """Yield the time expressions of an English text, from first to last. Expressions do not overlap."""
    for found, rule in islice(_find_matches(text), MAX_EXPRESSIONS):
        mention = _resolve_match(text, found, rule, at)
        if mention is not None:
            yield mention


def _find_matches(text: str) -> Iterator[tuple[re.Match[str], Rule]]:
    """Yield each match with its rule: the first rule that matches at a word with which it can begin."""
    rules, after = index_rules(), 0
    for start in islice(_START.finditer(text), MAX_WORDS):
        word = start[0]
        candidates = rules.get("#" if word[0].isdecimal() else word.lower())
        if candidates is None or start.start() < after:
            continue
        for pattern, rule in candidates:
            found = pattern.match(text, start.start())
            if found is not None:
                after = found.end()
                yield found, rule
                break


def _resolve_match(text: str, found: re.Match[str], rule: Rule, at: datetime) -> TimeMention | None:
    if _is_not_time(text, found):
        return None
    try:
        interval = rule.meaning(found, at)
    except (ValueError, OverflowError):  # 31 June, 99999 years ago
        return None
    if interval is None:
        return None
    start = found.start() + (len(lead.group()) if (lead := _LEAD.match(found.group())) else 0)
    end = found.end() - found.group().endswith(".")
    mention = TimeMention(text=text[start:end], span=(start, end), interval=interval)
    return _open_end(text, mention, at)


def _is_not_time(text: str, found: re.Match[str]) -> bool:
    """Return true for "every last Friday", "half a year ago", "fiscal Q3 2023" and "my last year"."""
    low, start = max(0, found.start() - 12), found.start()
    if _KINDS.search(text, low, start):
        return True
    return _OWNERS.search(text, low, start) is not None and _OWNED.match(text, start) is not None


_KINDS: Final = re.compile(r"\b(?:every|each|half|fiscal|fy)\s$", re.I)
_OWNERS: Final = re.compile(r"(?:\b(?:my|your|his|her|our|their|its|whose)|['’]s)\s$", re.I)
_OWNED: Final = re.compile(r"(?:last|next|past|first)\b", re.I)
_LEAD: Final = re.compile(r"(?:in|on|during|over|throughout|within|for)\s{1,3}(?!the\syear)", re.I)
_OPENER: Final = re.compile(r"\b(since|until|till|up to|before|prior to|after|by|from|starting)\s{1,3}$", re.I)
_INSIDE: Final = re.compile(r"(since|until|till|before|after|by)\s", re.I)
_ONWARDS: Final = re.compile(r"\s(?:on|onwards?)\b(?!\s\w)", re.I)
_CLAUSE: Final = re.compile(r"\s(?:was|were|is|has|had|went)\b", re.I)


def _open_end(text: str, mention: TimeMention, at: datetime) -> TimeMention:
    """Return the mention with an open end, if its first word or the word before it opens one."""
    start, end = mention.span
    inside = _INSIDE.match(mention.text)
    opener = inside or _OPENER.search(text, max(0, start - 16), start)
    if opener is None or mention.interval.start is None or mention.interval.end is None:
        return mention
    word = opener[1].lower()
    if inside is None and not _is_opened_by(text, word, mention, at):
        return mention
    first = start if inside else opener.start()
    return TimeMention(text=text[first:end], span=(first, end), interval=_open_interval(mention.interval, word))


def _is_opened_by(text: str, word: str, mention: TimeMention, at: datetime) -> bool:
    if _CLAUSE.match(text, mention.span[1]):  # "since yesterday was her birthday"
        return False
    if word == "from":
        return _ONWARDS.match(text, mention.span[1]) is not None
    if word == "by" and not re.search(r"\d", mention.text):  # "she stopped by yesterday"
        return mention.interval.start is not None and mention.interval.start > at
    return True


def _open_interval(interval: Interval, word: str) -> Interval:
    """Open an end. "since" and "before" begin at the start of the time they name, "after" and "until" at its end."""
    if word in ("since", "from", "starting"):
        return replace(interval, end=None)
    if word == "after":
        return replace(interval, start=interval.end, end=None)
    return replace(interval, start=None, end=interval.start if word in ("before", "prior to") else interval.end)
