"""The results of ``ask`` and ``reflect``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from recollect.domain.items import Item, ItemKind
from recollect.domain.recalls import Evidence, RecallReceipt
from recollect.domain.traces import LoopTrace
from recollect.domain.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """An item that supports an answer. ``sources`` are the ids of the messages that the item came from."""

    id: str
    kind: ItemKind
    text: str
    sources: tuple[str, ...]


def cite(piece: Evidence | Item) -> Citation:
    """Return the citation of a whole piece of evidence."""
    return Citation(id=piece.id, kind=piece.kind, text=piece.text, sources=piece.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step on the way to an answer, described in words."""

    action: str
    detail: str
    seconds: float


class Route(StrEnum):
    """The ways in which the default recipe continues after its first pass over the evidence."""

    SUFFICES = "suffices"
    LOOP = "loop"
    PASSAGES = "passages"


class RouteReason(StrEnum):
    """The reasons for choosing a way."""

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
    RouteReason.IN_VAIN: "the way before has found nothing",
    RouteReason.FAILED: "the way before has failed",
}
"""The reasons in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTaken:
    """A way that was taken, and the reason for it.

    ``detail`` describes the case in words, for example the missing information, or why another way was left.
    """

    way: Route
    ground: RouteReason
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceipt:
    """The record of how an answer was made: its recalls, its models and its tokens.

    ``notes`` describe what was not done, and why.
    """

    recalls: tuple[RecallReceipt, ...]
    models: tuple[str, ...]
    usage: Usage
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with its citations and evidence.

    If ``abstained`` is true, memory does not contain the information, and ``text`` says so. Without a model, ``text``
    is empty. ``trace`` describes each step in words. ``loop`` has the iterations as values, if the answer came from a
    loop that retrieves, reflects and decides (:class:`recollect.domain.traces.LoopTrace`). ``ways`` are the ways that
    the default recipe took, in order, each with its reason. ``opinions`` are the ids of opinions that were formed or
    revised.
    """

    text: str
    abstained: bool
    citations: tuple[Citation, ...]
    evidence: tuple[Evidence, ...]
    trace: tuple[Step, ...]
    receipt: AnswerReceipt
    opinions: tuple[str, ...] = ()
    loop: LoopTrace | None = None
    ways: tuple[RouteTaken, ...] = ()
