"""Turn triples into items: their text, their times and their names (REMem, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from recollect.domain.entities import EntityKind
from recollect.domain.items import Item, Occurrence
from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Triple, fold_phrase
from recollect.retain.resolve import NameOccurrence
from recollect.text.names import find_names
from recollect.text.time_expressions import describe_interval

PLACES: Final = 1_000_000
"""The number of places in a session's order between two messages. A message has fewer gists and triples than this."""


def text_of(triple: Triple) -> str:
    """Return a triple as text, to be read and searched."""
    return f"{triple.subject} {triple.predicate} {triple.object}"


def occurrences_of(triple: Triple) -> tuple[Occurrence, ...]:
    """Return the time of a triple, as one time from its start to its end. It is empty if no time is known."""
    whole = _whole(triple.start, triple.end)
    return () if whole is None else (Occurrence(words=describe_interval(whole), interval=whole),)


def _whole(start: Interval | None, end: Interval | None) -> Interval | None:
    """Return the time from the first moment of a start to the last of an end. One alone keeps its precision."""
    if start is None and end is None:
        return None
    if start == end:
        return start
    if end is None or end.end is None:
        assert start is not None
        return Interval(start=start.start, end=None, precision=start.precision)
    if start is None or start.start is None:
        return Interval(start=None, end=end.end, precision=end.precision)
    return Interval(start=start.start, end=end.end, precision=Precision.RANGE)


def names_in(triple: Triple, people: frozenset[str]) -> dict[str, EntityKind]:
    """Return the subject and the object if they are names. ``people`` are the names of speakers.

    "fence fixing" is a phrase and not a name. It means nobody, so no item is forgotten with a person because of it.
    """
    find_kind = _make_kind_finder(people)
    kinds = {phrase: find_kind(phrase) for phrase in (triple.subject, triple.object)}
    return {phrase: kind for phrase, kind in kinds.items() if kind is not None}


@lru_cache(maxsize=4)  # many phrases are asked for in a row, with the same people; a bank may have very many people
def _make_kind_finder(people: frozenset[str]) -> Callable[[str], EntityKind | None]:
    @lru_cache(maxsize=65_536)
    def find_kind(phrase: str) -> EntityKind | None:
        before = "about "  # so that the capital of a phrase is not read as the beginning of a sentence
        whole = (len(before), len(before) + len(phrase))
        return next((name.kind for name in find_names(before + phrase, people) if name.span == whole), None)

    return find_kind


def found_in(items: Sequence[Item], people: frozenset[str]) -> Iterator[NameOccurrence]:
    """Yield the names in triples, in the form that resolution needs."""
    for item in items:
        assert item.triple is not None
        kinds = names_in(item.triple, people)
        for surface, kind in kinds.items():
            together = tuple(other for other in kinds if fold_phrase(other) != fold_phrase(surface))
            yield NameOccurrence(item=item.id, surface=surface, kind=kind, at=item.mentioned, other_names=together)
