"""Triples and queries over them (REMem, sections 3.1 and 3.2, figures 5 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recollect._unicode import normalize_unicode
from recollect.domain.time import Interval


class Comparison(StrEnum):
    """The possible relations of one time to another.

    For any two times, exactly one of ``lt``, ``eq`` and ``gt`` is true. ``le`` and ``ge`` are each true for two of
    them.
    """

    LT = "lt"
    LE = "le"
    EQ = "eq"
    GE = "ge"
    GT = "gt"


class Ordering(StrEnum):
    """The order of triples: ``asc`` by start, the earliest first, or ``desc`` by end, the latest first."""

    ASC = "asc"
    DESC = "desc"


class Aggregation(StrEnum):
    """The possible counts over triples, in place of the triples. Phrases with equal :func:`fold_phrase` count once."""

    COUNT = "count"
    SUBJECTS = "count_unique_subjects"
    OBJECTS = "count_unique_objects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """The statement of an item of kind ``triple``: three phrases without a schema, and the time in which it was true.

    ``start`` and ``end`` are as precise as they are known: "1980" is a year. ``None`` means open. A point in time is
    both ``start`` and ``end``. If both are ``None``, no time is known.
    """

    subject: str
    predicate: str
    object: str
    start: Interval | None = None
    end: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplePattern:
    """A pattern of triples: each place must be one of its phrases (:func:`fold_phrase`). An empty tuple does not
    restrict.
    """

    subjects: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFilter:
    """A restriction of start and end: each must compare in a given way with a given time. ``None`` does not restrict.

    For example, everything that overlaps 1950 to 1960 has a start ``le`` 1960 and an end ``ge`` 1950 (figure 5).
    """

    start: Interval | None = None
    start_operator: Comparison = Comparison.GE
    end: Interval | None = None
    end_operator: Comparison = Comparison.LE


def fold_phrase(phrase: str) -> str:
    """Return the key of a phrase. Phrases that differ only in case, character width or whitespace have the same key."""
    if not phrase.isascii():  # most phrases are ASCII and need no normalisation
        phrase = normalize_unicode("NFKC", normalize_unicode("NFKC", phrase).casefold())
    return " ".join(phrase.casefold().split())
