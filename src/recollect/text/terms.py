"""Turn words into search terms: folded, stemmed and hashed."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recollect._unicode import normalize_unicode

# ASCII in lower case, with blanks for all other signs. Translating is three times as fast as matching.
_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_POSSESSIVE = re.compile(r"['’]s\b")
# Scripts without spaces. Each pair of neighbouring characters is a word there, and each Chinese character too.
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(rf"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff{_HAN}]+")
_ALONE = re.compile(rf"[{_HAN}]")
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


def extract_terms(text: str) -> NDArray[np.uint32]:
    """Return the search terms of a text in order, with repetitions: uint32, one for each word that is not a stop word.

    A term is the CRC-32 of the word's stem: lower case, without accents and without English endings. A text in a script
    without spaces gives pairs of characters. Chinese text gives single characters too, since one character can be a
    word.
    """
    known, found = _hashes, split_words(text)
    try:
        hashed = [known[word] for word in found]
    except KeyError:
        hashed = list(map(_find_term, found))
    return np.array([term for term in hashed if term is not None], dtype=np.uint32)


def split_words(text: str) -> list[str]:
    """Return the lower-case words without possessive endings. Stop words are included."""
    plain = text.isascii()
    lowered = text.lower() if plain else normalize_unicode("NFKC", text).casefold()
    if "'" in lowered or "’" in lowered:
        lowered = _POSSESSIVE.sub("", lowered)
    if plain:
        return lowered.encode().translate(_ASCII_WORDS).decode().split()
    return _marked_word().findall(_UNSPACED.sub(_split_pairs, lowered).replace("_", " "))


def _split_pairs(match: re.Match[str]) -> str:
    run = match.group()
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return f" {' '.join([*pairs, *_ALONE.findall(run)] or [run])} "


@cache
def _marked_word() -> re.Pattern[str]:
    r"""Return the pattern of a word with its marks. ``\w`` does not match separate vowel signs and accents."""
    marks = "".join(chr(code) for code in range(0x0300, 0xFB20) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(rf"\w[\w{marks}]*")


def _find_term(word: str) -> int | None:
    try:
        return _hashes[word]
    except KeyError:
        return _compute_term(word)


def _compute_term(word: str) -> int | None:
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
