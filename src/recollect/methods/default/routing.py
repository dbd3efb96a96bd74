"""Decide which route a question takes after its first pass. Values in, values out. Routes are steps of the trace."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from recollect.answering.evidence import join_lines
from recollect.domain.answers import Answer, TraceLine
from recollect.domain.usage import Usage
from recollect.methods.default.first_pass import FirstPassReply
from recollect.methods.memr3.trace import TrackerState


class Route(StrEnum):
    """The routes that the default recipe can take after its first pass over the evidence."""

    SUFFICES = "suffices"
    LOOP = "loop"
    PASSAGES = "passages"


class RouteReason(StrEnum):
    """The reasons for choosing a route."""

    COMPLETE = "complete"
    PRECISION = "precision"
    GAP = "gap"
    ABSTAINED = "abstained"
    WHOLE = "whole"
    CLOSED = "closed"
    IN_VAIN = "in_vain"
    FAILED = "failed"


ROUTE_REASONS: Final = {
    RouteReason.COMPLETE: "nothing is missing",
    RouteReason.PRECISION: "nothing is missing but a finer precision than memory may have",
    RouteReason.GAP: "something is missing",
    RouteReason.ABSTAINED: (
        "the evidence does not hold the answer, which is not said before memory was looked through again"
    ),
    RouteReason.WHOLE: "the question needs whole passages",
    RouteReason.CLOSED: "the question needs whole passages, and none can be read",
    RouteReason.IN_VAIN: "the route before has found nothing",
    RouteReason.FAILED: "the route before has failed",
}
"""The reasons in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTaken:
    """A route that was taken, and the reason for it. See :class:`recollect.domain.answers.TraceStep`.

    ``case`` describes the case in words, for example the missing information, or why another route was left.
    """

    kind: ClassVar[str] = "default.route"
    action: ClassVar[str] = "route"
    seconds: ClassVar[float] = 0.0
    usage: ClassVar[Usage] = Usage()
    lines: ClassVar[tuple[TraceLine, ...]] = ()

    route: Route
    reason: RouteReason
    case: str = ""

    @property
    def detail(self) -> str:
        case = f": {self.case}" if self.case else ""
        return f"{self.route}, since {ROUTE_REASONS[self.reason]}{case}"


def list_routes(answer: Answer) -> tuple[RouteTaken, ...]:
    """Return the routes in the trace of an answer, in the order in which they were taken."""
    return tuple(step for step in answer.trace if isinstance(step, RouteTaken))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRoute:
    """A route that led to no answer. ``failure`` says what went wrong. It is "" if the route found nothing."""

    route: Route
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
            return RouteTaken(route=Route.PASSAGES, reason=RouteReason.WHOLE, case=missing)
        return RouteTaken(route=Route.LOOP, reason=RouteReason.CLOSED, case=obstacle)
    if first.abstained:
        return RouteTaken(route=Route.LOOP, reason=RouteReason.ABSTAINED, case=missing or join_lines(first.answer))
    if not first.gaps:
        return RouteTaken(route=Route.SUFFICES, reason=RouteReason.COMPLETE)
    if TrackerState(evidence=first.findings, gaps=first.gaps).lacks_only_precision:
        return RouteTaken(route=Route.SUFFICES, reason=RouteReason.PRECISION, case=missing)
    return RouteTaken(route=Route.LOOP, reason=RouteReason.GAP, case=missing)


def fallback_route(first: FirstPassReply, tried: FailedRoute) -> RouteTaken | None:
    """Return the route after one that led to no answer. Return ``None`` if no route is left and nothing is known.

    If the first pass had an answer, that answer stands. If it had none, the loop is still possible after passages.
    """
    reason = RouteReason.FAILED if tried.failure else RouteReason.IN_VAIN
    if not first.abstained:
        return RouteTaken(route=Route.SUFFICES, reason=reason, case=tried.failure)
    return RouteTaken(route=Route.LOOP, reason=reason, case=tried.failure) if tried.route is Route.PASSAGES else None
