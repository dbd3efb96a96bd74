"""The results of a recall: evidence, and a receipt of the search."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recollect.domain.items import Item, ItemKind
from recollect.domain.time import Interval
from recollect.domain.usage import Usage


class ArmStatus(StrEnum):
    """The result of an arm. An arm that found nothing and an arm that was down have different values."""

    OK = "ok"
    IDLE = "idle"
    TIMEOUT = "timeout"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRank:
    """An arm that found a piece of evidence, with the rank there (1 is best) and the score on the arm's own scale."""

    arm: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An item, with the reason why it was returned. ``sources`` are ids of messages, the main one first.

    ``mentioned`` is when it was said. Items of a bank always have this time. It is ``None`` if another system's memory
    does not provide it. ``label`` is the label of the item: its kind within its kind, or "".

    ``item`` is the whole item as the search saw it, so that it need not be loaded again. It is ``None`` if the evidence
    is not an item of the bank: if it comes from another system's memory, or from JSON, which does not contain the item.
    """

    id: str
    kind: ItemKind
    text: str
    session: str
    speaker: str
    sources: tuple[str, ...]
    mentioned: datetime | None
    occurred: Interval | None
    score: float
    why: tuple[ArmRank, ...]
    tokens: int
    label: str = ""
    item: Item | None = field(default=None, compare=False, repr=False, metadata={"json": False})


def make_evidence(item: Item, score: float, why: tuple[ArmRank, ...]) -> Evidence:
    """Return an item as a piece of evidence."""
    return Evidence(
        id=item.id,
        kind=item.kind,
        text=item.text,
        session=item.session,
        speaker=item.speaker,
        sources=item.sources,
        mentioned=item.mentioned,
        occurred=item.occurred,
        score=score,
        why=why,
        tokens=item.tokens,
        label=item.label,
        item=item,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """The report of one arm.

    ``note`` says why the arm was idle or how it failed, or what a user should know about its search.
    """

    arm: str
    status: ArmStatus
    seconds: float
    candidates: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReceipt:
    """The record of a recall: the report of every arm, the items cut by the limits, and the cost.

    ``losses`` says what is known to be missing from the bank, for example because its log was removed.
    """

    arms: tuple[ArmReport, ...]
    fusion: str
    reranker: str | None
    candidates: int
    cut_by_limit: int
    cut_by_budget: int
    tokens: int
    during: Interval | None
    seconds: float
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    losses: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return true if no arm failed or ran out of time, and nothing is known to be missing from the bank."""
        return not self.losses and all(arm.status in (ArmStatus.OK, ArmStatus.IDLE) for arm in self.arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Evidence, the best first, and the receipt of the search."""

    evidence: tuple[Evidence, ...]
    receipt: RecallReceipt
