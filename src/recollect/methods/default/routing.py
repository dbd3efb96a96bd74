"""Decide which route a question takes after its first pass. Values in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.answering.evidence import join_lines
from recollect.domain.answers import ROUTE_REASONS, Route, RouteReason, RouteTaken, Step
from recollect.domain.traces import TrackerState
from recollect.methods.default.first_pass import FirstPassReply


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRoute:
    """A route that led to no answer. ``failure`` says what went wrong. It is "" if the route found nothing."""

    way: Route
    failure: str = ""


def choose_route(first: FirstPassReply, obstacle: str | None) -> RouteTaken:
    """Return the first route after the first pass: the first pass may suffice, or it says what else is needed.

    If the question needs whole passages, they come before single snippets, because a loop cannot put a passage together
    from snippets. If only a finer precision is missing, the answer stands at the precision that memory has. An answer
    that memory has nothing is given only after another search.

    Args:
        first: the reply of the first pass.
        obstacle: the reason why no whole passages can be read, or ``None`` if they can.
    """
    missing = "; ".join(join_lines(gap.missing) for gap in first.gaps)
    if first.whole:
        if obstacle is None:
            return RouteTaken(way=Route.PASSAGES, ground=RouteReason.WHOLE, detail=missing)
        return RouteTaken(way=Route.LOOP, ground=RouteReason.CLOSED, detail=obstacle)
    if first.abstained:
        return RouteTaken(way=Route.LOOP, ground=RouteReason.ABSTAINED, detail=missing or join_lines(first.answer))
    if not first.gaps:
        return RouteTaken(way=Route.SUFFICES, ground=RouteReason.COMPLETE)
    if TrackerState(evidence=first.findings, gaps=first.gaps).lacks_only_precision:
        return RouteTaken(way=Route.SUFFICES, ground=RouteReason.PRECISION, detail=missing)
    return RouteTaken(way=Route.LOOP, ground=RouteReason.GAP, detail=missing)


def fallback_route(first: FirstPassReply, tried: FailedRoute) -> RouteTaken | None:
    """Return the route after one that led to no answer. Return ``None`` if no route is left and nothing is known.

    If the first pass had an answer, that answer stands. If it had none, the loop is still possible after passages.
    """
    ground = RouteReason.FAILED if tried.failure else RouteReason.IN_VAIN
    if not first.abstained:
        return RouteTaken(way=Route.SUFFICES, ground=ground, detail=tried.failure)
    return RouteTaken(way=Route.LOOP, ground=ground, detail=tried.failure) if tried.way is Route.PASSAGES else None


def describe_route(taken: RouteTaken) -> Step:
    """Return a route as a step of the answer's trace."""
    case = f": {taken.detail}" if taken.detail else ""
    return Step(action="way", detail=f"{taken.way}, since {ROUTE_REASONS[taken.ground]}{case}", seconds=0.0)
