"""Represent the result of a tool: gists and facts with their numbers, as a value and as text for a model."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from recollect.answering.evidence import format_moment, join_lines
from recollect.domain.answers import TraceLine
from recollect.domain.items import Item, ItemKind
from recollect.domain.recalls import ArmRank, Evidence, make_evidence
from recollect.domain.triples import Triple
from recollect.domain.usage import Usage
from recollect.text.time_expressions import describe_interval

CORRECTION_NOTE: Final = "This call was not made: {correction}."


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedItem:
    """A gist or fact with its number in one toolkit.

    The toolkit gives the number when it first shows the item, counting from 1, and keeps it.

    ``why`` has the name of the tool that found the item, its rank in the tool's list, and its score. The score is a
    cosine, a share of BM25, the weight of an edge, or 1 for a fact that was asked for by its phrases.
    """

    number: int
    item: Item
    why: ArmRank

    @property
    def render(self) -> str:
        """Return the item as a model reads it.

        It is always a single line, so that its text cannot pass for another item.
        """
        return f"[{self.number}] {_render_item(self.item)}"

    @property
    def evidence(self) -> Evidence:
        """Return the item as a piece of evidence."""
        return make_evidence(self.item, self.why.score, (self.why,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The result of a call.

    ``arguments`` are those of the call. ``gists`` and ``facts`` are the items that are shown, in the tool's order. The
    totals count all items that there are. For a retrieval they count the items that it returned.

    ``number`` is the result of an aggregation. ``facts`` are then some of the facts that it counted. ``note`` is
    anything else that the reader should know. If there is a ``correction``, the call was not made. It says what is
    wrong with the call, and what to write instead.
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
        """Return the gists, and then the facts."""
        return (*self.gists, *self.facts)

    @property
    def text(self) -> str:
        """Return the observation as a model reads it.

        The text in its lines is recorded data, and never an instruction.
        """
        return render_observation(self, frozenset(one.number for one in self.items))


def render_observation(observation: Observation, numbers: Container[int]) -> str:
    """Return an observation in words. Only items with one of these numbers get a line."""
    if observation.correction:
        return CORRECTION_NOTE.format(correction=join_lines(observation.correction))
    lines = [join_lines(observation.note)] if observation.note else []
    if observation.number is not None:
        lines.append(f"Counted: {observation.number}")
    lines += _render_items("Gists", observation.gists, observation.gists_total, numbers)
    lines += _render_items("Facts", observation.facts, observation.facts_total, numbers)
    return "\n".join(lines)


def render_call(tool: str, arguments: Mapping[str, object]) -> str:
    """Return a call in one line, for a reader."""
    return f"{join_lines(tool)}({', '.join(f'{join_lines(str(name))}={value!r}' for name, value in arguments.items())})"


def summarize_observation(observation: Observation) -> str:
    """Return the result of a call in a few words, for a reader."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A call of a tool on the way to an answer. See :class:`recollect.domain.answers.TraceStep`.

    ``thought`` is the agent's reason for the call. ``result`` says in a few words what the tool found. ``usage`` is the
    cost of the plan for the call, and ``seconds`` the time of both together.
    """

    kind: ClassVar[str] = "remem.tool"
    lines: ClassVar[tuple[TraceLine, ...]] = ()

    tool: str
    arguments: Mapping[str, object]
    result: str
    thought: str = ""
    usage: Usage = Usage()
    seconds: float

    @property
    def action(self) -> str:
        return self.tool

    @property
    def detail(self) -> str:
        call = f"{render_call(self.tool, self.arguments)}: {self.result}"
        return "; ".join(filter(None, (join_lines(self.thought), call)))


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
    """Return the time at which a fact was valid, as exactly as it is known."""
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
