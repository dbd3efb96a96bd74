"""Compare two names: the string term of equation 2 (Hindsight, section 4.1.3), and what forbids a merge."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from rapidfuzz.distance import OSA

from recollect.retain.directory import LONG_WORD
from recollect.text.name_index import LONGEST_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveSettings:
    """The weights of equation 2 and the conditions of a merge. All except ``sigma`` are shares in [0, 1].

    ``alpha``, ``beta`` and ``gamma`` are the weights of string similarity, co-occurrence and nearness in time. An
    entity's nearness falls to 1/e in the time ``sigma`` after its last mention. A merge needs a score of ``threshold``
    and a lead of ``margin`` over the next entity. With a spelling mistake, the whole names must have a similarity of
    ``whole``, and the words with the mistake one of ``word``. ``fuller`` is the string similarity of a known "Ada" with
    a new "Ada Lovelace". It is below 1 because a new surname may bring a new person, so nearness in time or a common
    company is needed too. In the other direction, the similarity is 1.
    """

    alpha: float = 0.6
    beta: float = 0.25
    gamma: float = 0.15
    sigma: timedelta = timedelta(days=30)
    threshold: float = 0.6
    margin: float = 0.05
    whole: float = 0.88
    word: float = 0.85
    fuller: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSimilarity:
    """The similarity of two names, in [0, 1].

    ``is_part`` is true if one name is a shorter form of the other. ``is_fuller`` is true if the new one is the longer
    one.
    """

    string: float
    is_part: bool = False
    is_fuller: bool = False


def find_most_similar(key: str, names: Iterable[str], settings: ResolveSettings) -> NameSimilarity | None:
    """Return the best similarity of a normalised name to an entity's names, or ``None`` if no name is similar.

    A full name must agree with every full name of the entity. "Ada Byron" is not the "Ada" who is "Ada Lovelace".
    """
    new = _split_words(key)
    best: NameSimilarity | None = None
    for name in names:
        old = _split_words(name)
        likeness = _compare_names(new, old, settings)
        if likeness is None:
            if len(new) > 1 and len(old) > 1:
                return None
        elif best is None or likeness.string > best.string:
            best = likeness
    return best


def _compare_names(new: tuple[str, ...], old: tuple[str, ...], settings: ResolveSettings) -> NameSimilarity | None:
    if _find_numbers(new) != _find_numbers(old):
        return None
    if "".join(new) == "".join(old):
        return NameSimilarity(string=1.0)
    if max(sum(map(len, new)), sum(map(len, old))) > LONGEST_NAME:
        return None
    if _is_part(new, old):
        return NameSimilarity(string=1.0, is_part=True)
    if _is_part(old, new):
        return NameSimilarity(string=settings.fuller, is_part=True, is_fuller=True)
    return _compare_mistyped(new, old, settings)


def _compare_mistyped(new: tuple[str, ...], old: tuple[str, ...], settings: ResolveSettings) -> NameSimilarity | None:
    """Return the similarity of two names with a mistake inside one long word. All other words must be equal.

    Short words that differ by a letter are different names (Mara and Marta). Long words that differ at their ends are
    also different names (Christina and Christine, Katharina and Catharina).
    """
    if len(new) != len(old):
        return None
    differing = [(one, other) for one, other in zip(new, old, strict=True) if one != other]
    if len(differing) != 1:
        return None
    one, other = differing[0]
    if not (one.isalpha() and other.isalpha()) or min(len(one), len(other)) < LONG_WORD:
        return None
    # "Americans" and "Americas" differ at their ends too, before the "s".
    if one[0] != other[0] or one[-1] != other[-1] or one.rstrip("s")[-1:] != other.rstrip("s")[-1:]:
        return None
    if OSA.normalized_similarity(one, other) < settings.word:
        return None
    whole = OSA.normalized_similarity(" ".join(new), " ".join(old))
    return NameSimilarity(string=whole) if whole >= settings.whole else None


def _is_part(short: tuple[str, ...], full: tuple[str, ...]) -> bool:
    """Return true if a name is a shorter form of another.

    "Ada", "Lovelace", "A. Lovelace" and "Dr. Lovelace" are shorter forms of "Ada Lovelace".
    """
    titles = _TITLES.intersection(short[:1]), _TITLES.intersection(full[:1])
    if all(titles) and titles[0] != titles[1]:  # Mr. Smith, Mrs. Smith
        return False
    short, full = short[len(titles[0]) :], full[len(titles[1]) :]
    if not short or len(short) > len(full) or not _KIN.isdisjoint(set(full).difference(short)):
        return False
    if len(short) == len(full):
        return all(map(_abbreviates, short, full)) and len(short[-1]) > 1
    if len(short) == 1 and len(short[0]) < 2:
        return False
    left = iter(full)
    in_order = all(any(_abbreviates(word, other) for other in left) for word in short)
    return in_order and (_abbreviates(short[0], full[0]) or short[-1] == full[-1])


def _abbreviates(short: str, full: str) -> bool:
    return short == full or (len(short) == 1 and full.startswith(short))


def _split_words(key: str) -> tuple[str, ...]:
    return tuple(key.split(" "))


def _find_numbers(words: Iterable[str]) -> tuple[str, ...]:
    """Return the numbers in a name, Roman ones too. They distinguish Room 101 from Room 102."""
    return tuple(
        number
        for word in words
        if word in _ROMAN or not word.isalpha()
        for number in ((word,) if word in _ROMAN else _DIGITS.findall(word))
    )


_DIGITS: Final = re.compile(r"\d+")
_ROMAN: Final = frozenset(("ii", "iii", "iv", "vi", "vii", "viii", "ix", "xi", "xii", "xiii", "xiv", "xv"))
_TITLES: Final = frozenset(("dr", "prof", "professor", "mr", "mrs", "ms", "miss", "sir", "rev", "captain", "coach"))
# A name with one of these is a different name, not a longer form: "Aunt Mary" and "St. Mary" are not "Mary".
_KIN: Final = frozenset(
    """aunt auntie uncle grandma grandpa granny mother father sister brother cousin saint st king queen prince princess
    pope jr sr junior senior""".split()
)
