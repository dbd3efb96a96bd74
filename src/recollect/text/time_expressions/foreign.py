"""Read time expressions of Spanish, French, German, Portuguese, Italian and Dutch by turning them into English.

The text is read in the language whose small words are the most frequent in it, because the languages share spellings:
"hier" is yesterday in French and here in German. We measured dateparser and do not use it for these six: its versions
1.4.2 and 1.5.0 do not read "hace dos semanas", "lundi dernier" and "twee weken geleden", and give no precision. It
reads full dates in about two hundred further languages, and we use it for those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Final

from recollect.domain.time import Interval
from recollect.text.time_expressions.dates import PartialDate
from recollect.text.time_expressions.rules import resolve_exactly
from recollect.text.time_expressions.scan import MAX_EXPRESSIONS, TimeMention, has_digit
from recollect.text.time_expressions.tables import LANGUAGES, SMALL_WORDS, TimeLanguage
from recollect.text.time_expressions.words import ENGLISH_MONTHS, ENGLISH_WEEKDAYS

# A longer text is not a message. The rest stays unread, so that the running time has a bound.
_MAX_CHARACTERS: Final = 50_000
_PIECE: Final = re.compile(r"<(\w+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class _LanguageReader:
    """One compiled language: its patterns, and the English of each pattern."""

    pattern: re.Pattern[str]
    english: tuple[str, ...]
    names: dict[str, str]


def may_be_foreign(words: frozenset[str]) -> bool:
    """Return true if the words contain a digit or a time word of the six languages."""
    return not _hint_words().isdisjoint(words) or has_digit(words)


@cache
def _hint_words() -> frozenset[str]:
    return frozenset(hint for language in LANGUAGES.values() for hint in language.hints())


def scan_foreign(text: str, at: datetime, words: frozenset[str]) -> Iterator[TimeMention]:
    """Yield the expressions of the most likely language. If none is likely, yield full dates of other languages."""
    likely = _choose_languages(words)
    if likely == ("en",):
        return
    for name in likely:
        mentions = tuple(_scan_language(text, at, _build_reader(name))) if name != "en" else ()
        if mentions:
            yield from mentions
            return
    if not likely:
        yield from _find_written_days(text, at)


def _choose_languages(words: frozenset[str]) -> tuple[str, ...]:
    """Return the languages with the most small words in the text: several if they tie, none if no word is known."""
    scores = {name: len(known & words) for name, known in SMALL_WORDS.items()}
    best = max(scores.values())
    return tuple(name for name, score in scores.items() if score == best) if best else ()


@cache
def _build_reader(name: str) -> _LanguageReader:
    language = LANGUAGES[name]
    pieces = language.pieces()
    patterns = [
        _PIECE.sub(rf"(?P<\g<1>{index}>~\g<1>~)", shape).replace(" ", r"\s{1,3}")
        for index, (shape, _) in enumerate(language.shapes)
    ]
    joined = "|".join(f"(?P<s{index}>{pattern})" for index, pattern in enumerate(patterns))
    filled = re.sub(r"~(\w+)~", lambda piece: pieces[piece[1]], joined)
    return _LanguageReader(
        pattern=re.compile(rf"(?<![\w$€£#])(?<!\d[.,/:-])(?:{filled})(?!\w)", re.I),
        english=tuple(english for _, english in language.shapes),
        names=_map_names(language),
    )


def _map_names(language: TimeLanguage) -> dict[str, str]:
    months = {word: ENGLISH_MONTHS[n] for n, names in enumerate(language.months.split()) for word in names.split("|")}
    days = {word: ENGLISH_WEEKDAYS[n] for n, names in enumerate(language.weekdays.split()) for word in names.split("|")}
    return months | days | language.units | language.numbers


def _scan_language(text: str, at: datetime, reader: _LanguageReader) -> Iterator[TimeMention]:
    for found in islice(reader.pattern.finditer(text, 0, _MAX_CHARACTERS), MAX_EXPRESSIONS):
        index = next(n for n in range(len(reader.english)) if found.group(f"s{n}") is not None)
        english = _translate(reader.english[index], found, index, reader)
        interval = _resolve_meaning(english, at)
        if interval is not None:
            yield TimeMention(text=found.group(), span=found.span(), interval=interval)


def _translate(english: str, found: re.Match[str], index: int, reader: _LanguageReader) -> str:
    def piece(name: re.Match[str]) -> str:
        word = found[f"{name[1]}{index}"]
        return reader.names.get(word.lower(), word)

    return _PIECE.sub(piece, english)


def _resolve_meaning(english: str, at: datetime) -> Interval | None:
    try:
        return resolve_exactly(english, 0, len(english), at) if english else None
    except (ValueError, OverflowError):
        return None


_WRITTEN_DAY: Final = re.compile(
    r"(?<![\w$€£#])(?<!\d[.,/:-])(?P<day>3[01]|[12]\d|0?[1-9])\.?\s{0,2}(?:[^\W\d_]{1,3}\s{1,2})?"
    r"[^\W\d_]{3,14}\.?,?\s{1,2}(?:[^\W\d_]{1,3}\s{1,2})?(?P<year>(?:19|20)\d\d)(?![\w%])"
)
# dateparser tries every language and needs milliseconds for one date, so the number of dates has a bound.
_MAX_ASKED: Final = 3


def _find_written_days(text: str, at: datetime) -> Iterator[TimeMention]:
    """Yield full dates in any language. A date that dateparser reads counts only if its day and year are in the
    words.
    """
    for found in islice(_WRITTEN_DAY.finditer(text, 0, _MAX_CHARACTERS), _MAX_ASKED):
        moment = _ask_dateparser(found.group(), at)
        if moment is None or (moment.day, moment.year) != (int(found["day"]), int(found["year"])):
            continue
        day = PartialDate(year=moment.year, month=moment.month, day=moment.day)
        yield TimeMention(text=found.group(), span=found.span(), interval=day.interval(at.tzinfo))


def _ask_dateparser(words: str, at: datetime) -> datetime | None:
    import dateparser  # slow to load, and seldom needed

    settings = {"REQUIRE_PARTS": ["day", "month", "year"], "RELATIVE_BASE": at.replace(tzinfo=None)}
    try:
        parsed: datetime | None = dateparser.parse(words, settings=settings)
    except Exception:  # whatever it trips over, the words are then no time
        return None
    return parsed
