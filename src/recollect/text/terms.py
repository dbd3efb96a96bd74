"""Words as search terms: folded, stemmed, hashed."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")
# Scripts written without spaces: a word there is every pair of neighbouring characters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_LONGEST_WORD = 64
_CACHE_SIZE = 200_000

STOP_WORDS = frozenset(
    "a an the of to in on at for and or is are was were be been being am do does did done doing has have had having "
    "what when where who whom whose which why how that this these those it its i you he she they we my your his her "
    "their our me him them us with from by about as if then than so not no can could would should will shall may "
    "might must just there here any also too s t d ll m re ve don didn doesn isn wasn aren weren won wouldn couldn "
    "hasn haven hadn im".split()
)

_hashes: dict[str, int | None] = {}


def terms(text: str) -> NDArray[np.uint32]:
    """The text's terms in order, repeats kept: uint32, one a word that is no stop word.

    A term is the CRC-32 of a word's stem: lower case, without accents, English endings taken off. Texts in scripts
    without spaces give pairs of characters.
    """
    known = _hashes
    found = []
    for word in words(text):
        try:
            term = known[word]
        except KeyError:
            term = _remember(word)
        if term is not None:
            found.append(term)
    return np.array(found, dtype=np.uint32)


def words(text: str) -> list[str]:
    """Lower-case words without possessive endings, stop words included."""
    lowered = text.lower()
    if "'" in lowered or "’" in lowered:
        lowered = _POSSESSIVE.sub("", lowered)
    if lowered.isascii():
        return _WORD.findall(lowered)
    return _WORD.findall(_UNSPACED.sub(_pairs, lowered))


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    return " " + " ".join(run[i : i + 2] for i in range(max(1, len(run) - 1))) + " "


def _remember(word: str) -> int | None:
    if len(_hashes) >= _CACHE_SIZE:
        _hashes.clear()
    term = None if word in STOP_WORDS else crc32(_stem(word[:_LONGEST_WORD]).encode("utf-8", "replace"))
    _hashes[word] = term
    return term


def _stem(word: str) -> str:
    folded = word if word.isascii() else _fold(word)
    return str(_stemmer().stemWord(folded)) if folded.isascii() and folded.isalpha() else folded


def _fold(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


@cache
def _stemmer():  # type: ignore[no-untyped-def]
    import Stemmer  # Snowball's own, in C: a new word costs 1 microsecond, in pure Python 200

    return Stemmer.Stemmer("english")
