"""Make questions of eight types about a timeline, each with its only answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final, Literal

from benchmarks.timeline import gold, wordings
from benchmarks.timeline.facts import Fact, Line
from benchmarks.timeline.graphs import SHAPES, GraphSettings, Timeline, timeline

EACH: Final = 5
"""The number of questions about each graph."""
DRAWS: Final = 500
GRAPHS: Final = 20
PLACES: Final = {1: "first", 2: "second", 3: "third", gold.LAST: "last"}
TIMES: Final = {1: "1st", 2: "2nd", 3: "3rd", gold.LAST: "last"}
SIDES: Final[tuple[gold.Side, ...]] = ("before", "after")
EDGES: Final[tuple[gold.Edge, ...]] = ("start", "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and its answer. The entities of a list are joined by ", " in their order."""

    type: str
    text: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A timeline and the questions about it."""

    timeline: Timeline
    questions: tuple[Question, ...]


class Deck:
    """A timeline from which questions are drawn."""

    def __init__(self, timeline: Timeline, rng: Random) -> None:
        self.facts, self.calendar, self.rng = timeline.facts, timeline.calendar, rng

    @cached_property
    def lines(self) -> dict[Line, list[Fact]]:
        """Return every line with at least two facts, and these facts."""
        found: dict[Line, list[Fact]] = {}
        for fact in self.facts:
            for line in (
                Line(relation=fact.relation, entity=fact.object, known="object"),
                Line(relation=fact.relation, entity=fact.subject, known="subject"),
            ):
                found.setdefault(line, []).append(fact)
        return {line: facts for line, facts in found.items() if len(facts) > 1}

    def line(self) -> tuple[Line, list[Fact]]:
        """Draw a line, with its facts."""
        chosen = self.rng.choice(tuple(self.lines))
        return chosen, self.lines[chosen]

    def window(self, facts: Sequence[Fact]) -> tuple[int, int]:
        """Draw a period of some units. Half of the periods begin when one of these facts ends, and end when another
        starts.
        """
        starts, ends = [fact.start for fact in facts], [fact.end for fact in facts if fact.end is not None]
        if ends and self.rng.random() < 1 / 2:
            first, last = self.rng.choice(ends), self.rng.choice(starts)
        else:
            first, last = sorted(self.rng.choice(starts) + self.rng.randint(-5, 5) for _ in range(2))
        return (first, last) if first < last else (last, first + 1)

    def time_of(self, fact: Fact) -> int:
        """Draw a time at which a fact is true. Half of the times are its first or its last."""
        last = fact.start + 10 if fact.end is None else fact.end
        edges = fact.start if fact.end is None else self.rng.choice((fact.start, fact.end))
        return edges if self.rng.random() < 1 / 2 else self.rng.randint(fact.start, last)

    def put(self, texts: wordings.Wordings, **slots: object) -> str:
        """Draw one of these wordings, and fill its slots."""
        text = self.rng.choice(texts).format(**slots, unit=self.calendar.unit)
        return text[0].upper() + text[1:]

    def put_of(self, line: Line, texts: wordings.Sided, **slots: object) -> str:
        """Draw one of these wordings for a line, and fill its slots."""
        return self.put(texts[line.known], relation=line.relation, entity=line.entity, **slots)


Drawn = tuple[str, str | None]
"""A question and its answer, or ``None`` if the question must not be asked."""


def before_after(deck: Deck) -> Drawn:
    line, facts = deck.line()
    other, side = line.asked(deck.rng.choice(facts)), deck.rng.choice(SIDES)
    text = deck.put_of(line, wordings.BEFORE_AFTER, other=other, side=side)
    return text, gold.neighbour(line, other, side, deck.facts)


def event_at_time_t(deck: Deck) -> Drawn:
    line, facts = deck.line()
    time = deck.time_of(deck.rng.choice(facts))
    text = deck.put_of(line, wordings.AT_TIME, time=deck.calendar.spoken(time))
    return text, gold.at_time(line, time, deck.facts)


def event_at_what_time(deck: Deck) -> Drawn:
    names, edge = deck.rng.choice(deck.facts).names, deck.rng.choice(EDGES)
    time = gold.edge_of(names, edge, deck.facts)
    text = deck.put(wordings.WHAT_TIME[edge], **_named(names))
    return text, None if time is None else deck.calendar.written(time)


def first_last(deck: Deck) -> Drawn:
    line, _ = deck.line()
    place = deck.rng.choice(tuple(PLACES))
    return deck.put_of(line, wordings.FIRST_LAST, place=PLACES[place]), gold.placed(line, place, deck.facts)


def event_at_time_of_another_event(deck: Deck) -> Drawn:
    (line, _), other, edge = deck.line(), deck.rng.choice(deck.facts), deck.rng.choice(EDGES)
    if line.holds(other):
        return "", None
    event = deck.rng.choice(wordings.EVENTS[edge]).format(**_named(other.names))
    return deck.put_of(line, wordings.AT_EVENT, event=event), gold.at_edge(line, other.names, edge, deck.facts)


def number_of_events_in_interval(deck: Deck) -> Drawn:
    line, facts = deck.line()
    first, last = deck.window(facts)
    inclusive, every_time = deck.rng.random() < 2 / 3, deck.rng.random() < 1 / 3
    texts = wordings.NUMBER_OF_TIMES if every_time else wordings.NUMBER_OF_ENTITIES
    spoken = {"first": deck.calendar.spoken(first), "last": deck.calendar.spoken(last)}
    text = deck.put_of(line, texts, bounds=wordings.BOUNDS[inclusive].format(**spoken), **spoken)
    counted: Literal["times", "entities"] = "times" if every_time else "entities"
    return text, str(gold.number(line, first, last, deck.facts, inclusive=inclusive, counted=counted))


def relation_duration(deck: Deck) -> Drawn:
    names = deck.rng.choice(deck.facts).names
    count = len(gold.times_of(names, deck.facts))
    place = deck.rng.choice([one for one in TIMES if one <= count])
    lasted = gold.lasted(names, place, deck.facts)
    texts = wordings.LASTED_ONCE if count == 1 else wordings.LASTED
    return deck.put(texts, place=TIMES[place], **_named(names)), None if lasted is None else str(lasted)


def in_order(deck: Deck) -> Drawn:
    line, facts = deck.line()
    within = deck.window(facts) if deck.rng.random() < 1 / 3 else None
    latest_first = deck.rng.random() < 1 / 3
    entities = gold.in_order(line, deck.facts, within=within)
    text = deck.put_of(
        line,
        wordings.IN_ORDER,
        within=_spoken(deck, within),
        order=wordings.LATEST_FIRST if latest_first else wordings.EARLIEST_FIRST,
    )
    return text, None if entities is None else ", ".join(entities[::-1] if latest_first else entities)


TYPES: Final[Mapping[str, Callable[[Deck], Drawn]]] = {
    "before_after": before_after,
    "event_at_time_t": event_at_time_t,
    "event_at_what_time": event_at_what_time,
    "first_last": first_last,
    "event_at_time_of_another_event": event_at_time_of_another_event,
    "number_of_events_in_interval": number_of_events_in_interval,
    "relation_duration": relation_duration,
    "timeline": in_order,
}


def asked(count: int, seed: int, settings: GraphSettings) -> Iterator[Asked]:
    """Yield timelines with ``count`` questions in total, :data:`EACH` for a graph.

    Types and shapes alternate, so that all pairs of them are equally frequent. The same seed makes the same graphs and
    questions, whatever their number is.
    """
    types = tuple(TYPES)
    for graph, first in enumerate(range(0, count, EACH)):
        wanted = [types[number % len(types)] for number in range(first, min(first + EACH, count))]
        rng = Random(f"{seed} {graph}")
        yield _asked(SHAPES[graph % len(SHAPES)], wanted, settings, rng)


def _asked(shape: str, wanted: Sequence[str], settings: GraphSettings, rng: Random) -> Asked:
    """Return a graph with a question of each of these types. If a graph does not have all of them, another graph is
    tried.
    """
    for _ in range(GRAPHS):
        made = timeline(shape, settings, rng)
        questions = [_question(type_, Deck(made, rng)) for type_ in wanted]
        found = tuple(question for question in questions if question is not None)
        if len(found) == len(questions) == len({question.text for question in found}):
            return Asked(timeline=made, questions=found)
    raise ValueError(f"no {shape} graph of about {settings.facts} facts has all these types: {', '.join(wanted)}")


def _question(type_: str, deck: Deck) -> Question | None:
    for _ in range(DRAWS if deck.lines else 0):
        text, answer = TYPES[type_](deck)
        if answer is not None:
            return Question(type=type_, text=text, answer=answer)
    return None


def _named(names: gold.Names) -> dict[str, str]:
    return dict(zip(("subject", "relation", "object"), names, strict=True))


def _spoken(deck: Deck, within: tuple[int, int] | None) -> str:
    if within is None:
        return ""
    return wordings.WITHIN.format(first=deck.calendar.spoken(within[0]), last=deck.calendar.spoken(within[1]))
