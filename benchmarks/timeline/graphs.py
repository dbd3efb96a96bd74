"""Make timelines over graphs of seven shapes, as in Test of Time's semantic part (Fatemi et al., 2025, section 3.1).

A shape decides which entities have edges. Facts are spread over these edges. Some lines are successions: each fact
begins when the one before ends, or some time later. In other lines, times overlap at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from random import Random
from typing import Final, Literal

from benchmarks.timeline.facts import Calendar, Fact
from benchmarks.timeline.offices import strewn_offices

Edge = tuple[str, str]
FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2020
YEARS: Final = LAST_YEAR + 1 - FIRST_YEAR
LONGEST_YEARS: Final = 15
TRIES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSettings:
    """The size of graphs and the precision of times. The numbers of entities and facts vary by up to a third."""

    entities: int = 16
    facts: int = 275
    precision: Literal["year", "month"] = "year"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The facts of a graph, in no order, and its shape."""

    shape: str
    facts: tuple[Fact, ...]
    calendar: Calendar


def erdos_renyi(names: Sequence[str], rng: Random) -> list[Edge]:
    """Return edges between pairs of entities. Every pair has the same probability."""
    chance = rng.uniform(0.2, 0.7)
    return [pair for pair in combinations(names, 2) if rng.random() < chance]


def scale_free(names: Sequence[str], rng: Random) -> list[Edge]:
    """Return edges between new and old entities. Old entities are chosen by their present edges (Bollobas et al.,
    2003).
    """
    rest = list(names[2:])
    edges = [(names[0], names[1])]
    while rest:
        heads = [head for _, head in edges] + [names[0]]
        tails = [tail for tail, _ in edges] + [names[1]]
        draw = rng.random()
        if draw < 0.41:
            edges.append((rest.pop(), rng.choice(heads)))
        elif draw < 0.95:
            edges.append((rng.choice(tails), rng.choice(heads)))
        else:
            edges.append((rng.choice(tails), rest.pop()))
    return list(dict.fromkeys(edge for edge in edges if edge[0] != edge[1]))


def barabasi_albert(names: Sequence[str], rng: Random) -> list[Edge]:
    """Return edges from each new entity to a few old ones. Old entities with many edges are more likely."""
    each = rng.randint(1, 4)
    ends = list(names[:each])
    edges: list[Edge] = []
    for new in names[each:]:
        chosen: set[str] = set()
        while len(chosen) < each:
            chosen.add(rng.choice(ends))
        edges += [(new, old) for old in sorted(chosen)]
        ends += [*sorted(chosen), *[new] * each]
    return edges


def stochastic_block(names: Sequence[str], rng: Random) -> list[Edge]:
    """Return edges that are frequent between entities of the same block, and rare between two blocks."""
    blocks = rng.randint(2, 4)
    block = {name: rng.randrange(blocks) for name in names}
    inside, across = rng.uniform(0.5, 0.9), rng.uniform(0.05, 0.2)
    return [
        (one, other)
        for one, other in combinations(names, 2)
        if rng.random() < (inside if block[one] == block[other] else across)
    ]


def star(names: Sequence[str], rng: Random) -> list[Edge]:
    """Return edges from one entity to every other."""
    return [(names[0], name) for name in names[1:]]


def complete(names: Sequence[str], rng: Random) -> list[Edge]:
    """Return edges between all pairs."""
    return list(combinations(names, 2))


_RANDOM: Final[Mapping[str, Callable[[Sequence[str], Random], list[Edge]]]] = {
    "erdos_renyi": erdos_renyi,
    "scale_free": scale_free,
    "barabasi_albert": barabasi_albert,
    "stochastic_block": stochastic_block,
    "star": star,
    "complete": complete,
}
OFFICES: Final = "offices"
SHAPES: Final = (*_RANDOM, OFFICES)


def timeline(shape: str, settings: GraphSettings, rng: Random) -> Timeline:
    """Make a graph of this shape. It is the same for the same state of ``rng``."""
    calendar = Calendar(unit=settings.precision)
    span = calendar.span(FIRST_YEAR, LAST_YEAR)
    wanted = _about(settings.facts, rng)
    names = _labels("E", max(6, _about(settings.entities, rng)), rng)
    if shape == OFFICES:
        facts = strewn_offices(names, _labels("R", 6, rng), wanted, span, rng)
    else:
        edges: list[Edge] = []
        while not edges:  # a small random graph may have none
            edges = _RANDOM[shape](names, rng)
        # With few edges there are many relations. Otherwise the same things would be true again and again.
        relations = max(3, round(wanted / len(edges) / rng.uniform(1, 2.5)))
        facts = _strewn(_directed(edges, rng), _labels("R", min(99, relations), rng), wanted, span, rng)
    rng.shuffle(facts)
    return Timeline(shape=shape, facts=tuple(facts), calendar=calendar)


def _about(number: int, rng: Random) -> int:
    return max(1, round(number * rng.uniform(2 / 3, 4 / 3)))


def _labels(letter: str, count: int, rng: Random) -> list[str]:
    """Return anonymous names. Their numbers mean nothing, and are rarely consecutive."""
    return [f"{letter}{number}" for number in rng.sample(range(100), count)]


def _directed(edges: Iterable[Edge], rng: Random) -> list[Edge]:
    return [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]


def _strewn(edges: list[Edge], relations: Sequence[str], wanted: int, span: range, rng: Random) -> list[Fact]:
    """Return facts over these edges. Every edge is used if there are enough facts."""
    lines: dict[Edge, list[str]] = {}
    for at in range(wanted):
        if at % len(edges) == 0:
            rng.shuffle(edges)
        subject, object_ = edges[at % len(edges)]
        lines.setdefault((rng.choice(relations), object_), []).append(subject)
    facts: list[Fact] = []
    for (relation, object_), subjects in lines.items():
        rng.shuffle(subjects)
        orderly = len(subjects) < len(span) // 2 and rng.random() < 0.5
        for subject, start, end in (_in_succession if orderly else _as_it_happens)(subjects, span, rng):
            facts.append(Fact(subject=subject, relation=relation, object=object_, start=start, end=end))
    return facts


def _in_succession(subjects: Sequence[str], span: range, rng: Random) -> list[tuple[str, int, int]]:
    """Return times one after another. If the same subject comes twice in a row, there is a gap between."""
    needed = len(subjects) + 1
    width = min(len(span), max(2 * needed, rng.randint(1, LONGEST_YEARS) * needed * len(span) // YEARS))
    first = span.start + rng.randint(0, len(span) - width)
    cuts = sorted(rng.sample(range(first, first + width), needed))
    times = []
    for at, (start, following) in enumerate(pairwise(cuts)):
        again = subjects[at : at + 2] == [subjects[at]] * 2
        latest = following - 1 if again else following
        times.append((subjects[at], start, rng.randint(start, latest) if rng.random() < 0.3 else latest))
    return times


def _as_it_happens(subjects: Sequence[str], span: range, rng: Random) -> list[tuple[str, int, int]]:
    """Return times that overlap at random, except those of the same subject. A time for which there is no space is left
    out.
    """
    times: list[tuple[str, int, int]] = []
    for subject in subjects:
        for _ in range(TRIES):
            start = rng.choice(span)
            end = min(span[-1], start + rng.randint(1, LONGEST_YEARS * len(span) // YEARS))
            if not any(subject == one and start <= until and since <= end for one, since, until in times):
                times.append((subject, start, end))
                break
    return times
