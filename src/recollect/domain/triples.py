"""Triples, and what may be asked of them (REMem, sections 3.1 and 3.2, figures 5 and 8)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from recollect.domain.time import Interval


class Comparison(StrEnum):
    """How one time stands to another. Of ``lt``, ``eq`` and ``gt`` exactly one holds; ``le`` and ``ge`` join two."""

    LT = "lt"
    LE = "le"
    EQ = "eq"
    GE = "ge"
    GT = "gt"


class Ordering(StrEnum):
    """In which order triples come: by start, the earliest first, or by end, the latest first."""

    ASC = "asc"
    DESC = "desc"


class Aggregation(StrEnum):
    """What is counted of triples, in place of giving them; phrases that :func:`fold_phrase` makes equal are one."""

    COUNT = "count"
    SUBJECTS = "count_unique_subjects"
    OBJECTS = "count_unique_objects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """What an item of kind ``triple`` states: three phrases, free of any schema, and when that held.

    ``start`` and ``end`` are as exact as they are known: "1980" is a year. ``None`` is open. A point in time stands in
    both. Where both are ``None``, no time is known.
    """

    subject: str
    predicate: str
    object: str
    start: Interval | None = None
    end: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplePattern:
    """Which triples: each place is one of these phrases (:func:`fold_phrase`); an empty tuple does not narrow."""

    subjects: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFilter:
    """How the start and the end of something must stand to two times; ``None`` does not narrow.

    All that overlaps 1950 to 1960 has its start ``le`` 1960 and its end ``ge`` 1950 (figure 5).
    """

    start: Interval | None = None
    start_operator: Comparison = Comparison.GE
    end: Interval | None = None
    end_operator: Comparison = Comparison.LE


def fold_phrase(phrase: str) -> str:
    """What two phrases have in common that are the same but for case, width and blanks."""
    if not phrase.isascii():  # most are, and then there is nothing to normalise
        phrase = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", phrase).casefold())
    return " ".join(phrase.casefold().split())
