"""Compute the true answers over the facts of a timeline, without a store, tools, a calendar, or any code of recollect.

``None`` means that there is no answer, that there are several, or that another reading of the question has another
answer. Such a question is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from benchmarks.timeline.facts import Fact, Line

Side = Literal["before", "after"]
Edge = Literal["start", "end"]
Names = tuple[str, str, str]
LAST = -1
"""The place of the last entity or time."""


def on(line: Line, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts of a line, by start and then by end."""
    return sorted((fact for fact in facts if line.holds(fact)), key=lambda fact: (fact.start, fact.until))


def times_of(names: Names, facts: Iterable[Fact]) -> list[Fact]:
    """Return all facts with the same subject, relation and object, by start. They do not overlap."""
    return sorted((fact for fact in facts if fact.names == names), key=lambda fact: fact.start)


def at_time(line: Line, time: int, facts: Iterable[Fact]) -> str | None:
    """Return the one entity that a line has at a time. The first and the last unit of a fact are included."""
    return _only({line.asked(fact) for fact in facts if line.holds(fact) and fact.holds_at(time)})


def edge_of(names: Names, edge: Edge, facts: Iterable[Fact]) -> int | None:
    """Return the start or the end of something that was true once."""
    times = times_of(names, facts)
    return getattr(times[0], edge) if len(times) == 1 else None


def at_edge(line: Line, names: Names, edge: Edge, facts: Sequence[Fact]) -> str | None:
    """Return the one entity that a line has at the time at which something else started or ended."""
    time = edge_of(names, edge, facts)
    return None if time is None else at_time(line, time, facts)


def neighbour(line: Line, entity: str, side: Side, facts: Sequence[Fact]) -> str | None:
    """Return the entity directly before or after another one on a line. The other one must be there exactly once.

    Two readings have to agree. The first is the neighbour in the order of starts. The second, for "before", is the one
    that ended last among those that ended before the other one began. For "after", it is the one that began first among
    those that began after the other one ended. If two facts only share one unit, they do not overlap.
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
    """Return the entity that was the first on a line (1), the second (2), or the last (:data:`LAST`).

    The first entities are in the order of starts, and all are different. The last entity started last and ended last.
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
    """Return how many different entities a line has from one time to another, or how many times there are.

    With ``inclusive``, a fact that ended in the first unit or began in the last one counts. Otherwise it does not.
    """
    within = [
        fact
        for fact in facts
        if line.holds(fact)
        and (fact.start <= last and fact.until >= first if inclusive else fact.start < last and fact.until > first)
    ]
    return len(within) if counted == "times" else len({line.asked(fact) for fact in within})


def lasted(names: Names, place: int, facts: Iterable[Fact]) -> int | None:
    """Return how long something was true for the first time (1), the second (2) or the last (:data:`LAST`): end minus
    start.
    """
    times = times_of(names, facts)
    if not times or place > len(times):
        return None
    fact = times[place if place == LAST else place - 1]
    return None if fact.end is None or fact.end == fact.start else fact.end - fact.start


def in_order(line: Line, facts: Iterable[Fact], *, within: tuple[int, int] | None = None) -> list[str] | None:
    """Return a line's entities by start, each as often as it was there. With ``within``, only those in that time."""
    first, last = within or (float("-inf"), float("inf"))
    ordered = [fact for fact in on(line, facts) if fact.start <= last and fact.until >= first]
    entities = [line.asked(fact) for fact in ordered]
    told_apart = len({fact.start for fact in ordered}) == len(ordered) and len(set(entities)) > 1
    return entities if told_apart else None


def _only(names: set[str]) -> str | None:
    return names.pop() if len(names) == 1 else None


def _furthest(facts: Sequence[Fact], measure: Callable[[Fact], float]) -> Fact | None:
    """Return the fact with the highest measure, if no other has the same."""
    highest = max(map(measure, facts), default=None)
    found = [fact for fact in facts if measure(fact) == highest]
    return found[0] if len(found) == 1 else None
