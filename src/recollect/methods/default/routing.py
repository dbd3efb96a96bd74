"""Which way a question goes after its first pass: values in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.answering.evidence import join_lines
from recollect.domain.answers import ROUTE_REASONS, Route, RouteReason, RouteTaken, Step
from recollect.domain.traces import TrackerState
from recollect.methods.default.first_pass import FirstPassReply


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRoute:
    """A way that came to nothing: ``failure`` says what went wrong; "" where it has found nothing."""

    way: Route
    failure: str = ""


def choose_route(first: FirstPassReply, obstacle: str | None) -> RouteTaken:
    """Whether the first pass suffices, and if not, what is done.

    Whole passages go before single snippets where the question needs them, since a loop would look for what it cannot
    put together. Where nothing but a finer precision is missing, the answer at the precision that memory has stands.
    That memory is silent is said only when it has been looked through again.

    Args:
        first: what the first pass has brought.
        closed: why no whole passages can be read; ``None`` where they can.
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
    """What is done when a way came to nothing; ``None`` where nothing is left to be done, and nothing is known.

    An answer of the first pass stands then. Where it had none, passages leave the loop to be tried.
    """
    ground = RouteReason.FAILED if tried.failure else RouteReason.IN_VAIN
    if not first.abstained:
        return RouteTaken(way=Route.SUFFICES, ground=ground, detail=tried.failure)
    return RouteTaken(way=Route.LOOP, ground=ground, detail=tried.failure) if tried.way is Route.PASSAGES else None


def describe_route(taken: RouteTaken) -> Step:
    """A way as a step of the answer's trace."""
    case = f": {taken.detail}" if taken.detail else ""
    return Step(action="way", detail=f"{taken.way}, since {ROUTE_REASONS[taken.ground]}{case}", seconds=0.0)
