"""What a recall gives back: evidence, and a receipt of how it was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recollect.domain.items import Item, ItemKind
from recollect.domain.time import Interval
from recollect.domain.usage import Usage


class ArmStatus(StrEnum):
    """What became of an arm; an arm that found nothing and one that was down never look alike."""

    OK = "ok"
    IDLE = "idle"
    TIMEOUT = "timeout"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRank:
    """An arm that brought a piece of evidence: its rank there (1 is best) and its score on the arm's own scale."""

    arm: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An item, with the reason it was returned. ``sources`` are message ids, the one it is about first.

    ``mentioned`` is when it was said: a bank always knows, and it is ``None`` where a memory of somebody else's does
    not tell. ``label`` is the item's: what kind of its kind it is, "" where there is nothing to tell apart. ``item`` is
    the whole item as the search saw it, so that nobody loads it again. It is ``None`` where the evidence is no item of
    the bank: a foreign memory's, or one that came back from JSON, which does not hold it.
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
    """What one arm did.

    ``note`` says why an arm was idle, how it failed, or what a user should know of how it searched.
    """

    arm: str
    status: ArmStatus
    seconds: float
    candidates: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReceipt:
    """How a recall went: every arm, what was cut by limit and by token budget, what it cost."""

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

    @property
    def complete(self) -> bool:
        """Whether every arm that had something to do did it."""
        return all(arm.status in (ArmStatus.OK, ArmStatus.IDLE) for arm in self.arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Evidence, best first, and the receipt."""

    evidence: tuple[Evidence, ...]
    receipt: RecallReceipt
