"""What ``ask`` and ``reflect`` give back."""

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
    """An item that an answer rests on; ``sources`` are the ids of the messages that it came from."""

    id: str
    kind: ItemKind
    text: str
    sources: tuple[str, ...]


def cite(piece: Evidence | Item) -> Citation:
    """A citation of a whole piece of evidence."""
    return Citation(id=piece.id, kind=piece.kind, text=piece.text, sources=piece.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was done on the way to an answer, in words for a reader."""

    action: str
    detail: str
    seconds: float


class Route(StrEnum):
    """How the default recipe goes on after its first pass over the evidence."""

    SUFFICES = "suffices"
    LOOP = "loop"
    PASSAGES = "passages"


class RouteReason(StrEnum):
    """What decides which way is taken."""

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
"""What decided, for a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTaken:
    """A way that was taken, what decided that, and the case in words: what is missing, why another way was left."""

    way: Route
    ground: RouteReason
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceipt:
    """How an answer was made: recalls, models, tokens. ``notes`` say what was left undone, and why."""

    recalls: tuple[RecallReceipt, ...]
    models: tuple[str, ...]
    usage: Usage
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with what it rests on. ``abstained`` means that memory does not hold it; ``text`` then says so.

    ``trace`` tells in words what was done. ``loop`` is the same as a value, iteration by iteration, where a loop that
    looks, thinks and decides was gone through (:class:`recollect.domain.traces.LoopTrace`). ``ways`` are those that the
    default recipe took, one after another, each with what decided. ``opinions`` are the ids of opinions that were
    formed or revised on the way.
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
