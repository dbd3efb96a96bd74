"""Find quotes of some texts in other texts, however they are spelled: case, accents, punctuation and blanks do not
count.

A quote is a *span*: some words that follow each other when all stop words are left out. These spans are telling:

- three words in a row, or both words of a text that has only two;
- two words in a row of which one belongs to a name;
- the words of a name, as :func:`recollect.text.names.find_names` finds names, unless the name is a single ordinary
  word ("Rose") or an abbreviation;
- one word that is a number of at least four digits and not a year, a mixture of letters and digits, or very long.

A single common word is no quote, because it may come from anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from recollect._unicode import normalize_unicode
from recollect.text.name_words import ORDINARY_NAMES
from recollect.text.names import find_names
from recollect.text.terms import STOP_WORDS, split_words

Span = tuple[str, ...]

SPAN_WORDS: Final = 3
DERIVED_SPAN_WORDS: Final = 6
_MIN_DIGITS: Final = 4
_MIN_MIXED: Final = 5
_MIN_LONG: Final = 20
_YEAR: Final = re.compile(r"(?:1[5-9]|20)\d\d")
_MIXED: Final = re.compile(r"(?=.*\d)(?=.*[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Quotes:
    """The telling spans of some texts. The cost of every method is linear in the length of the texts."""

    spans: frozenset[Span] = frozenset()
    _lengths: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lengths", tuple(sorted({len(span) for span in self.spans})))

    def __bool__(self) -> bool:
        return bool(self.spans)

    def find_in(self, text: str) -> set[Span]:
        """Return the spans that a text contains."""
        if not self.spans:
            return set()
        words = list_words(text)
        return {span for length in self._lengths for span in _list_runs(words, length) if span in self.spans}

    def is_in(self, text: str) -> bool:
        """Return true if a text contains any of the spans."""
        return bool(self.find_in(text))

    def keep_only(self, spans: Iterable[Span]) -> Quotes:
        """Return those of the spans that are among the given ones."""
        return Quotes(self.spans.intersection(spans))

    def remove_found_in(self, texts: Iterable[str]) -> Quotes:
        """Return the spans without those that one of the texts contains."""
        left = self
        for text in texts:
            if not left:
                break
            if found := left.find_in(text):
                left = Quotes(left.spans - found)
        return left


def make_quotes(texts: Iterable[str], derived: Iterable[str] = (), names: Iterable[str] = ()) -> Quotes:
    """Return the telling spans of texts.

    Args:
        texts: texts that people wrote.
        derived: texts that a model wrote about them. Its own phrases come again in other texts, so only long spans of
            these texts are telling.
        names: names of which every word together is telling.
    """
    spans: set[Span] = set()
    for text in texts:
        spans.update(_list_telling(text))
    for text in derived:
        words = list_words(text)
        if len(words) > SPAN_WORDS:
            spans.update(_list_runs(words, min(len(words), DERIVED_SPAN_WORDS)))
    spans.update(tuple(words) for words in map(list_words, names) if words)
    return Quotes(frozenset(spans))


def cut_quotes(text: str, quotes: Quotes) -> str:
    """Return a text without the sentences in which spans begin, end or lie. Without sentences, nothing is left."""
    kept = "".join(part for part in _SENTENCE.findall(text) if not quotes.is_in(part))
    return "" if quotes.is_in(kept) else kept.strip()


def list_words(text: str) -> list[str]:
    """Return the words of a text that are not stop words, casefolded and without accents and possessive endings."""
    return [word for word in map(fold_word, split_words(text)) if word not in STOP_WORDS]


def fold_word(word: str) -> str:
    """Return a word without accents."""
    if word.isascii():
        return word
    kept = "".join(char for char in normalize_unicode("NFKD", word) if unicodedata.combining(char) < _ACCENTS)
    return normalize_unicode("NFKC", kept)


def _list_telling(text: str) -> Iterator[Span]:
    words = list_words(text)
    if len(words) > 1:
        yield from _list_runs(words, min(len(words), SPAN_WORDS))
    yield from ((word,) for word in words if _is_telling(word))
    names = [(name.text, tuple(list_words(name.text))) for name in find_names(text)]
    parts = {word for _, name in names for word in name}.difference(ORDINARY_NAMES)
    yield from (pair for pair in _list_runs(words, 2) if not parts.isdisjoint(pair))
    for spelled, name in names:
        if len(name) > 1 or (not spelled.isupper() and not parts.isdisjoint(name)):
            yield name


def _list_runs(words: list[str], length: int) -> Iterator[Span]:
    """Yield every run of so many words."""
    return zip(*(words[start:] for start in range(length)), strict=False)


def _is_telling(word: str) -> bool:
    if word.isdecimal():
        return len(word) >= _MIN_DIGITS and not _YEAR.fullmatch(word)
    return len(word) >= _MIN_LONG or (len(word) >= _MIN_MIXED and _MIXED.match(word) is not None)


_ACCENTS: Final = 200  # combining classes from here on are marks above and below letters
_SENTENCE: Final = re.compile(r"[^.!?\n]*[.!?\n]*")
