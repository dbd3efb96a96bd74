"""What a tool gives back: gists and facts with their numbers, as a value and as a model reads it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from recollect.answering.evidence import format_moment, join_lines
from recollect.domain.items import Item, ItemKind
from recollect.domain.recalls import ArmRank, Evidence, make_evidence
from recollect.domain.triples import Triple
from recollect.text.time_expressions import describe_interval

CORRECTION_NOTE: Final = "This call was not made: {correction}."


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedItem:
    """A gist or fact with the number by which it is known to one toolkit from its first showing on, from 1.

    ``why`` names the tool that brought it, its place in the tool's list, and how well it fits: a cosine, a share of
    BM25, the weight of an edge, or 1 for a fact that was asked for by its phrases.
    """

    number: int
    item: Item
    why: ArmRank

    @property
    def render(self) -> str:
        """As a model reads it: a single line, whatever it says, so that it can pass for no other."""
        return f"[{self.number}] {_render_item(self.item)}"

    @property
    def evidence(self) -> Evidence:
        """The same as a piece of evidence."""
        return make_evidence(self.item, self.why.score, (self.why,))


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
    gists: tuple[NumberedItem, ...] = ()
    facts: tuple[NumberedItem, ...] = ()
    gists_total: int = 0
    facts_total: int = 0
    number: int | None = None
    note: str = ""
    correction: str = ""

    @property
    def items(self) -> tuple[NumberedItem, ...]:
        """Gists and facts."""
        return (*self.gists, *self.facts)

    @property
    def text(self) -> str:
        """The observation as a model reads it; what stands in its lines is recorded data, and no instruction."""
        return render_observation(self, frozenset(one.number for one in self.items))


def render_observation(observation: Observation, numbers: Container[int]) -> str:
    """An observation in words, with the lines of those items alone that have these numbers."""
    if observation.correction:
        return CORRECTION_NOTE.format(correction=join_lines(observation.correction))
    lines = [join_lines(observation.note)] if observation.note else []
    if observation.number is not None:
        lines.append(f"Counted: {observation.number}")
    lines += _render_items("Gists", observation.gists, observation.gists_total, numbers)
    lines += _render_items("Facts", observation.facts, observation.facts_total, numbers)
    return "\n".join(lines)


def render_call(tool: str, arguments: Mapping[str, object]) -> str:
    """A call in one line, for a reader."""
    return f"{join_lines(tool)}({', '.join(f'{join_lines(str(name))}={value!r}' for name, value in arguments.items())})"


def summarize_observation(observation: Observation) -> str:
    """What came of a call, in a few words for a reader."""
    if observation.correction:
        return f"not made, since {join_lines(observation.correction)}"
    if observation.number is not None:
        return f"counted {observation.number}"
    if observation.note and not observation.items:
        return join_lines(observation.note)
    gists, facts = (
        f"{len(shown)} of {total} {name}"
        for name, shown, total in (
            ("gists", observation.gists, observation.gists_total),
            ("facts", observation.facts, observation.facts_total),
        )
    )
    return f"{gists}, {facts}"


def _render_items(name: str, shown: Sequence[NumberedItem], total: int, numbers: Container[int]) -> Iterator[str]:
    lines = [one.render for one in shown if one.number in numbers]
    if not total:
        yield f"{name}: none"
    elif len(lines) == total:
        yield f"{name}: {total}"
    else:
        yield f"{name}: {len(lines)} of {total}"
    yield from lines


def _render_item(item: Item) -> str:
    if item.kind is ItemKind.TRIPLE and item.triple is not None:
        triple = item.triple
        phrases = ", ".join(map(join_lines, (triple.subject, triple.predicate, triple.object)))
        return f"({phrases}) {_render_validity(triple)}; said {format_moment(item.mentioned)}"
    times = ", ".join(dict.fromkeys(describe_interval(one.interval) for one in item.occurrences))
    return f"{join_lines(item.text)} (time: {times})" if times else join_lines(item.text)


def _render_validity(triple: Triple) -> str:
    """When a fact held, as exactly as that is known."""
    start, end = triple.start, triple.end
    match start and describe_interval(start), end and describe_interval(end):
        case None, None:
            return "at no told time"
        case since, None:
            return f"from {since} on"
        case None, until:
            return f"until {until}"
        case since, until:
            return f"at {since}" if start == end else f"from {since} to {until}"
