"""What is true of a timeline, worked out over its own facts: no store, no tools, no calendar, nothing of recollect.

``None`` says that there is no answer, or that there are several, or that another reading of the question has another
one: such a question is not put.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from benchmarks.timeline.facts import Fact, Line

Side = Literal["before", "after"]
Edge = Literal["start", "end"]
Names = tuple[str, str, str]
LAST = -1
"""The place of what comes last."""


def on(line: Line, facts: Iterable[Fact]) -> list[Fact]:
    """The facts of a line, by start and then by end."""
    return sorted((fact for fact in facts if line.holds(fact)), key=lambda fact: (fact.start, fact.until))


def times_of(names: Names, facts: Iterable[Fact]) -> list[Fact]:
    """All times at which somebody was something of somebody, by start; they do not overlap."""
    return sorted((fact for fact in facts if fact.names == names), key=lambda fact: fact.start)


def at_time(line: Line, time: int, facts: Iterable[Fact]) -> str | None:
    """The one entity that a line has at a time, its first and its last unit included."""
    return _only({line.asked(fact) for fact in facts if line.holds(fact) and fact.holds_at(time)})


def edge_of(names: Names, edge: Edge, facts: Iterable[Fact]) -> int | None:
    """When something started or ended that was so once."""
    times = times_of(names, facts)
    return getattr(times[0], edge) if len(times) == 1 else None


def at_edge(line: Line, names: Names, edge: Edge, facts: Sequence[Fact]) -> str | None:
    """The one entity of a line at the time at which something else started or ended."""
    time = edge_of(names, edge, facts)
    return None if time is None else at_time(line, time, facts)


def neighbour(line: Line, entity: str, side: Side, facts: Sequence[Fact]) -> str | None:
    """The entity right before or after another one on a line, where that one is there once.

    Two readings have to agree: the neighbour in the order of starts; and of those that were over when the other one
    began (that began when it was over) the one that ended last (began first). A unit that both share is no overlap.
    """
    times = times_of(line.names(entity), facts)
    if len(times) != 1:
        return None
    (anchor,) = times
    others = [fact for fact in on(line, facts) if fact != anchor]
    if any(fact.start == anchor.start for fact in others):
        return None
    if side == "before":
        in_order = _furthest([fact for fact in others if fact.start < anchor.start], lambda fact: fact.start)
        apart = _furthest([fact for fact in others if fact.until <= anchor.start], lambda fact: fact.until)
    else:
        in_order = _furthest([fact for fact in others if fact.start > anchor.start], lambda fact: -fact.start)
        apart = _furthest([fact for fact in others if fact.start >= anchor.until], lambda fact: -fact.start)
    return line.asked(apart) if apart is not None and apart == in_order else None


def placed(line: Line, place: int, facts: Iterable[Fact]) -> str | None:
    """The entity that was the first on a line (1), the second (2), or the last (:data:`LAST`).

    The first ones are in the order of starts, and each is another entity. The last one started last and ended last.
    """
    ordered = on(line, facts)
    if place == LAST:
        started = _furthest(ordered, lambda fact: fact.start)
        ended = _furthest(ordered, lambda fact: fact.until)
        return line.asked(started) if started is not None and started == ended else None
    first = ordered[:place]
    starts = [fact.start for fact in ordered[: place + 1]]
    apart = len(set(starts)) == len(starts) and len({line.asked(fact) for fact in first}) == place
    return line.asked(first[-1]) if len(first) == place and apart else None


def number(
    line: Line, first: int, last: int, facts: Iterable[Fact], *, inclusive: bool, counted: Literal["entities", "times"]
) -> int:
    """How many entities a line has from one time to another, each once, or how many times.

    ``inclusive``: what ended in the first unit or began in the last one counts. Otherwise it does not.
    """
    within = [
        fact
        for fact in facts
        if line.holds(fact)
        and (fact.start <= last and fact.until >= first if inclusive else fact.start < last and fact.until > first)
    ]
    return len(within) if counted == "times" else len({line.asked(fact) for fact in within})


def lasted(names: Names, place: int, facts: Iterable[Fact]) -> int | None:
    """How long something was so for the first time (1), the second (2) or the last (:data:`LAST`): end less start."""
    times = times_of(names, facts)
    if not times or place > len(times):
        return None
    fact = times[place if place == LAST else place - 1]
    return None if fact.end is None or fact.end == fact.start else fact.end - fact.start


def in_order(line: Line, facts: Iterable[Fact], *, within: tuple[int, int] | None = None) -> list[str] | None:
    """A line's entities by start, each as often as it was there; ``within``: those that were there then."""
    first, last = within or (float("-inf"), float("inf"))
    ordered = [fact for fact in on(line, facts) if fact.start <= last and fact.until >= first]
    entities = [line.asked(fact) for fact in ordered]
    told_apart = len({fact.start for fact in ordered}) == len(ordered) and len(set(entities)) > 1
    return entities if told_apart else None


def _only(names: set[str]) -> str | None:
    return names.pop() if len(names) == 1 else None


def _furthest(facts: Sequence[Fact], measure: Callable[[Fact], float]) -> Fact | None:
    """The fact of the highest measure, if it is alone there."""
    highest = max(map(measure, facts), default=None)
    found = [fact for fact in facts if measure(fact) == highest]
    return found[0] if len(found) == 1 else None
