"""Turn a question's type and slots into calls of the paper's tools, and their results into an answer.

The planner takes the place of a language model. It sees only the question's words and the results of the tools. So its
wrong answers come from the tools or the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol, TypedDict, Unpack

from benchmarks.timeline.reading import Pattern, Request, Unreadable, Wanted, read
from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Triple
from recollect.methods.remem.observations import Observation

PAGE: Final = 50
UNKNOWN: Final = "no information available"


class Narrowed(TypedDict, total=False):
    """The arguments of ``find_entity_contexts`` (figure 8) except the three phrases."""

    start_time: str
    end_time: str
    start_operator: str
    end_operator: str
    limit: int
    ordering: str
    offset: int
    aggregation: str


class Arguments(Narrowed, total=False):
    """All arguments of ``find_entity_contexts``."""

    subject: str | None
    predicate: str | None
    object: str | None


class Tools(Protocol):
    """The paper's tools that the planner uses."""

    async def find_entity_contexts(self, **arguments: Unpack[Arguments]) -> Observation: ...

    async def output_answer(self, answer: str) -> Observation: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An answer, and the number of calls for it. The call that outputs the answer is not counted."""

    answer: str
    calls: int


async def answer(question: str, tools: Tools) -> Told:
    """Answer a question. The tools must be new.

    The answer is :data:`UNKNOWN` if the question cannot be read, or if its facts are not found.
    """
    steps = _Steps(tools)
    try:
        request = read(question)
        found = await _PLANS[request.wanted](steps, request)
    except (Unreadable, _NotFound):
        found = UNKNOWN
    given = await tools.output_answer(found)
    return Told(answer=found if given.correction else str(given.arguments["answer"]), calls=steps.calls)


class _NotFound(Exception):
    """The tools do not have the facts that a plan needs."""


class _Steps:
    """Makes the calls of one plan, and counts them."""

    def __init__(self, tools: Tools) -> None:
        self._tools, self.calls = tools, 0

    async def facts(self, pattern: Pattern, **narrowed: Unpack[Narrowed]) -> list[Triple]:
        """Return the facts that a call shows."""
        return _triples(await self._observed(pattern, narrowed))

    async def first(self, pattern: Pattern, **narrowed: Unpack[Narrowed]) -> Triple:
        """Return the first fact that a call shows.

        Raises:
            _NotFound: the call shows no fact.
        """
        for triple in await self.facts(pattern, **narrowed):
            return triple
        raise _NotFound

    async def number(self, pattern: Pattern, **narrowed: Unpack[Narrowed]) -> int:
        """Return the result of an aggregation."""
        counted = (await self._observed(pattern, narrowed)).number
        if counted is None:
            raise _NotFound
        return counted

    async def every(self, pattern: Pattern, narrowed: Narrowed) -> list[Triple]:
        """Return all facts by start, read page by page."""
        found: list[Triple] = []
        while True:
            paged: Narrowed = {**narrowed, "ordering": "asc", "limit": PAGE, "offset": len(found)}
            page = await self._observed(pattern, paged)
            found += _triples(page)
            if not page.facts or len(found) >= page.facts_total:
                return found

    async def _observed(self, pattern: Pattern, narrowed: Narrowed) -> Observation:
        self.calls += 1
        observation = await self._tools.find_entity_contexts(
            subject=pattern.subject, predicate=pattern.predicate, object=pattern.object, **narrowed
        )
        if observation.correction:
            raise _NotFound
        return observation


async def _neighbour(steps: _Steps, request: Request) -> str:
    """Find the time of the other entity, and the entity that is nearest on one side of it."""
    anchor = await steps.first(_filled(request.pattern, request.other))
    nearest: Narrowed
    if request.side == "before":
        nearest = {"end_time": _iso(anchor.start), "end_operator": "le", "ordering": "desc", "limit": 2}
    else:
        nearest = {"start_time": _iso(anchor.end), "start_operator": "ge", "ordering": "asc", "limit": 2}
    for triple in await steps.facts(request.pattern, **nearest):
        if triple != anchor:  # an anchor that is a point in time fits its own bounds
            return _asked(request.pattern, triple)
    raise _NotFound


async def _at_time(steps: _Steps, request: Request) -> str:
    return await _held_at(steps, request.pattern, request.times[0])


async def _held_at(steps: _Steps, pattern: Pattern, time: str) -> str:
    triple = await steps.first(pattern, start_time=time, start_operator="le", end_time=time, end_operator="ge")
    return _asked(pattern, triple)


async def _time(steps: _Steps, request: Request) -> str:
    return _edge(await steps.first(request.pattern), request)


async def _placed(steps: _Steps, request: Request) -> str:
    return _asked(request.pattern, await _one_at(steps, request))


async def _one_at(steps: _Steps, request: Request) -> Triple:
    """Return the first, the second, ... or the last fact."""
    if request.place is None:
        return await steps.first(request.pattern, ordering="desc", limit=1)
    return await steps.first(request.pattern, ordering="asc", limit=1, offset=request.place - 1)


async def _at_event(steps: _Steps, request: Request) -> str:
    """Find the time of the other event, and the entity at that time."""
    assert request.event is not None
    return await _held_at(steps, request.pattern, _edge(await steps.first(request.event), request))


async def _number(steps: _Steps, request: Request) -> str:
    """Count the facts that overlap the bounds (figure 5). If the bounds do not count, count those that overlap the
    inside.
    """
    first, last = request.times
    unique = "count_unique_subjects" if request.pattern.subject is None else "count_unique_objects"
    counted = await steps.number(
        request.pattern,
        start_time=last,
        start_operator="le" if request.inclusive else "lt",
        end_time=first,
        end_operator="ge" if request.inclusive else "gt",
        aggregation=unique if request.each_once else "count",
    )
    return str(counted)


async def _lasted(steps: _Steps, request: Request) -> str:
    triple = await _one_at(steps, request)
    return str(_units(triple.end) - _units(triple.start))


async def _in_order(steps: _Steps, request: Request) -> str:
    within: Narrowed = {}
    if request.times:
        first, last = request.times
        within = {"start_time": last, "start_operator": "le", "end_time": first, "end_operator": "ge"}
    entities = [_asked(request.pattern, triple) for triple in await steps.every(request.pattern, within)]
    return ", ".join(entities[::-1] if request.latest_first else entities)


_PLANS: Final[Mapping[Wanted, Callable[[_Steps, Request], Awaitable[str]]]] = {
    Wanted.NEIGHBOUR: _neighbour,
    Wanted.AT_TIME: _at_time,
    Wanted.TIME: _time,
    Wanted.PLACED: _placed,
    Wanted.AT_EVENT: _at_event,
    Wanted.NUMBER: _number,
    Wanted.LASTED: _lasted,
    Wanted.IN_ORDER: _in_order,
}


def _triples(observation: Observation) -> list[Triple]:
    return [one.item.triple for one in observation.facts if one.item.triple is not None]


def _filled(pattern: Pattern, entity: str | None) -> Pattern:
    """Return the pattern with an entity in the place that is asked for."""
    return replace(pattern, subject=entity) if pattern.subject is None else replace(pattern, object=entity)


def _asked(pattern: Pattern, triple: Triple) -> str:
    return triple.subject if pattern.subject is None else triple.object


def _edge(triple: Triple, request: Request) -> str:
    return _iso(triple.end if request.edge == "end" else triple.start)


def _iso(time: Interval | None) -> str:
    """Return a year or a month as an ISO date.

    Raises:
        _NotFound: the time has no start.
    """
    start = _start(time)
    return f"{start:%Y-%m}" if time is not None and time.precision is Precision.MONTH else f"{start.year}"


def _units(time: Interval | None) -> int:
    """Return a year or a month as a number that can be subtracted."""
    start = _start(time)
    return start.year * 12 + start.month if time is not None and time.precision is Precision.MONTH else start.year


def _start(time: Interval | None) -> datetime:
    if time is None or time.start is None:
        raise _NotFound
    return time.start
