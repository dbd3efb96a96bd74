"""What ``ask`` and ``reflect`` give back."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.items import ItemKind
from recollect.domain.recalls import Evidence, RecallReceipt
from recollect.domain.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """An item that an answer rests on; ``sources`` are the ids of the messages that it came from."""

    id: str
    kind: ItemKind
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was done on the way to an answer, in words for a reader."""

    action: str
    detail: str
    seconds: float


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

    ``opinions`` are the ids of opinions that were formed or revised on the way.
    """

    text: str
    abstained: bool
    citations: tuple[Citation, ...]
    evidence: tuple[Evidence, ...]
    trace: tuple[Step, ...]
    receipt: AnswerReceipt
    opinions: tuple[str, ...] = ()
