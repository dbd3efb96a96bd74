"""Decide if a text names somebody, however the name is spelled: case, accents and a possessive ending do not count."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from rapidfuzz.distance import OSA

from recollect._unicode import normalize_unicode
from recollect.text.name_words import ORDINARY_NAMES
from recollect.text.quotes import fold_word
from recollect.text.terms import split_words


class NameMatch(IntEnum):
    """The result of looking for a name in a text. ``POSSIBLE``: somebody else, or no name at all, may be meant."""

    NONE = 0
    POSSIBLE = 1
    CERTAIN = 2


class NameMatcher:
    """Looks for some names in texts. The cost of a text is linear in its length, for each name.

    A match is certain if the words of a name follow each other in the text. It is possible if a text has only

    - an ordinary word that is also a name ("will", "rose"), in lower case;
    - a name inside a longer sign with digits or capitals ("TobyBoy99"), or with an "s" at its end;
    - the first or the last word of a longer name;
    - a capitalised word that differs from a long name by one letter.
    """

    def __init__(self, names: Iterable[str]) -> None:
        keys = {key: name for name in names if (key := make_name_key(name))}
        self._keys = tuple(key for key in keys if not _is_unspaced(keys[key]))
        self._unspaced = tuple(fold_text(name) for name in keys.values() if _is_unspaced(name))
        self._ordinary = frozenset(key for key in self._keys if key in ORDINARY_NAMES)
        self._spellings = {key: _make_spelling(keys[key]) for key in self._ordinary}
        self._parts = frozenset(
            word
            for key in self._keys
            if len(words := key.split(" ")) > 1
            for word in (words[0], words[-1])
            if len(word) > 2 and word not in ORDINARY_NAMES
        )

    def match(self, text: str) -> NameMatch:
        """Return how certain it is that a text contains one of the names."""
        key = make_name_key(text)
        spaced = f" {key} "
        found = [name for name in self._keys if f" {name} " in spaced]
        if any(name not in self._ordinary for name in found):
            return NameMatch.CERTAIN
        if self._unspaced and any(name in fold_text(text) for name in self._unspaced):
            return NameMatch.CERTAIN
        if any(self._spellings[name].search(text) for name in found):
            return NameMatch.CERTAIN
        if found or not self._parts.isdisjoint(key.split(" ")) or self._is_inside(text, key) or self._is_like(text):
            return NameMatch.POSSIBLE
        return NameMatch.NONE

    def _is_inside(self, text: str, key: str) -> bool:
        """Return true if a name stands in a longer sign that looks like an identifier, or in a plural."""
        whole = {name.replace(" ", "") for name in self._keys}
        if not any(name in key.replace(" ", "") for name in whole):
            return False
        for word in _WORD.findall(normalize_unicode("NFKC", text)):
            low = fold_word(word.casefold())
            if low.removesuffix("s") in whole or (_IDENTIFIER.search(word) and any(name in low for name in whole)):
                return True
        return False

    def _is_like(self, text: str) -> bool:
        long = [name for name in self._keys if len(name) >= _LONG_NAME and " " not in name]
        if not long:
            return False
        words = {fold_word(word.casefold()) for word in _WORD.findall(text) if word[0].isupper()}
        return any(
            word[0] == name[0] and abs(len(word) - len(name)) < 2 and OSA.distance(word, name, score_cutoff=1) == 1
            for word in words
            for name in long
        )


def make_name_key(text: str) -> str:
    """Return the words of a text or a name without case, accents, apostrophes and possessive endings.

    Initials become one word.
    """
    plain = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text))
    return _INITIALS.sub(lambda hit: hit[0].replace(" ", ""), " ".join(map(fold_word, split_words(plain))))


def fold_text(text: str) -> str:
    """Return a text without differences of case, Unicode form and blanks."""
    return " ".join(normalize_unicode("NFKC", normalize_unicode("NFKC", text).casefold()).split())


def _make_spelling(name: str) -> re.Pattern[str]:
    """Return the pattern of a name with a capital, inside a sentence."""
    return re.compile(rf"(?<=[\w,;]\s){re.escape(name[:1].upper() + name[1:].lower())}(?!\w)")


def _is_unspaced(name: str) -> bool:
    return _UNSPACED.search(name) is not None


_LONG_NAME: Final = 5
_POSSESSIVE: Final = re.compile(r"['’][sS]\b")
_APOSTROPHE: Final = re.compile(r"['’‘`´]")
_WORD: Final = re.compile(r"\w+")
_IDENTIFIER: Final = re.compile(r"[\d_]|[^\W\d_][A-Z]")
_INITIALS: Final = re.compile(r"(?<![^ ])[^\W\d_](?: [^\W\d_](?![^ ]))+")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
