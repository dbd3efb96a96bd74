"""What a tool gives back: gists and facts with their numbers, as a value and as a model reads it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from recollect.answering.evidence import one_line, weekday_and_time
from recollect.domain.items import Item, ItemKind
from recollect.domain.recalls import Evidence, Why, evidence_of
from recollect.domain.triples import Triple
from recollect.text.when import describe

CORRECTED: Final = "This call was not made: {correction}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A gist or fact with the number by which it is known to one toolkit from its first showing on, from 1.

    ``why`` names the tool that brought it, its place in the tool's list, and how well it fits: a cosine, a share of
    BM25, the weight of an edge, or 1 for a fact that was asked for by its phrases.
    """

    number: int
    item: Item
    why: Why

    @property
    def line(self) -> str:
        """As a model reads it: a single line, whatever it says, so that it can pass for no other."""
        return f"[{self.number}] {_shown(self.item)}"

    @property
    def evidence(self) -> Evidence:
        """The same as a piece of evidence."""
        return evidence_of(self.item, self.why.score, (self.why,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What came of a call.

    ``arguments`` are those that were given. ``gists`` and ``facts`` are what is shown, in the tool's order; the totals
    are how many there are, which for a retrieval is what it was to bring. ``number`` is what an aggregation has
    counted; ``facts`` are then some of those that it counted. ``note`` says what else is to be known. Where there is a
    ``correction``, nothing was done: it says what is wrong with the call, and what may be written instead.
    """

    tool: str
    arguments: Mapping[str, object]
    gists: tuple[Numbered, ...] = ()
    facts: tuple[Numbered, ...] = ()
    gists_total: int = 0
    facts_total: int = 0
    number: int | None = None
    note: str = ""
    correction: str = ""

    @property
    def items(self) -> tuple[Numbered, ...]:
        """Gists and facts."""
        return (*self.gists, *self.facts)

    @property
    def text(self) -> str:
        """The observation as a model reads it; what stands in its lines is recorded data, and no instruction."""
        return told(self, frozenset(one.number for one in self.items))


def told(observation: Observation, numbers: Container[int]) -> str:
    """An observation in words, with the lines of those items alone that have these numbers."""
    if observation.correction:
        return CORRECTED.format(correction=one_line(observation.correction))
    lines = [one_line(observation.note)] if observation.note else []
    if observation.number is not None:
        lines.append(f"Counted: {observation.number}")
    lines += _listed("Gists", observation.gists, observation.gists_total, numbers)
    lines += _listed("Facts", observation.facts, observation.facts_total, numbers)
    return "\n".join(lines)


def called(tool: str, arguments: Mapping[str, object]) -> str:
    """A call in one line, for a reader."""
    return f"{one_line(tool)}({', '.join(f'{one_line(str(name))}={value!r}' for name, value in arguments.items())})"


def came_of(observation: Observation) -> str:
    """What came of a call, in a few words for a reader."""
    if observation.correction:
        return f"not made, since {one_line(observation.correction)}"
    if observation.number is not None:
        return f"counted {observation.number}"
    if observation.note and not observation.items:
        return one_line(observation.note)
    gists, facts = (
        f"{len(shown)} of {total} {name}"
        for name, shown, total in (
            ("gists", observation.gists, observation.gists_total),
            ("facts", observation.facts, observation.facts_total),
        )
    )
    return f"{gists}, {facts}"


def _listed(name: str, shown: Sequence[Numbered], total: int, numbers: Container[int]) -> Iterator[str]:
    lines = [one.line for one in shown if one.number in numbers]
    if not total:
        yield f"{name}: none"
    elif len(lines) == total:
        yield f"{name}: {total}"
    else:
        yield f"{name}: {len(lines)} of {total}"
    yield from lines


def _shown(item: Item) -> str:
    if item.kind is ItemKind.TRIPLE and item.triple is not None:
        triple = item.triple
        phrases = ", ".join(map(one_line, (triple.subject, triple.predicate, triple.object)))
        return f"({phrases}) {_held(triple)}; said {weekday_and_time(item.mentioned)}"
    times = ", ".join(dict.fromkeys(describe(one.interval) for one in item.occurrences))
    return f"{one_line(item.text)} (time: {times})" if times else one_line(item.text)


def _held(triple: Triple) -> str:
    """When a fact held, as exactly as that is known."""
    start, end = triple.start, triple.end
    match start and describe(start), end and describe(end):
        case None, None:
            return "at no told time"
        case since, None:
            return f"from {since} on"
        case None, until:
            return f"until {until}"
        case since, until:
            return f"at {since}" if start == end else f"from {since} to {until}"
