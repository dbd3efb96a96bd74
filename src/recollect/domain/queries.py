"""What is asked of a bank."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import ItemKind
from recollect.domain.time import Interval
from recollect.domain.triples import TimeFilter

NO_VECTORS: Final = (
    "the bank holds no vectors: it is searched by words, links and time alone; "
    "`recollect rebuild` with an embedder adds them"
)
"""The note of receipts and bank lists for a bank of the embedder ``none``."""

_NO_KNOWN_WORDS: Final = "the question has no words that the embedder knows"


class Effort(StrEnum):
    """How hard to look: how many candidates each arm brings and how far the graph is walked."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a recall may return; everything is applied inside the store, so that k stays k.

    ``during`` keeps items that speak of, or were said in, that time. ``as_of`` answers with what was recorded by
    then. ``exclude`` holds ids of items or messages that have been seen already (MemR3's mask). ``when`` is about the
    start and the end of what items tell (:func:`recollect.domain.validity.validity_of`). An empty tuple does not
    narrow.
    """

    kinds: tuple[ItemKind, ...] = ()
    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    during: Interval | None = None
    as_of: datetime | None = None
    exclude: frozenset[str] = frozenset()
    when: TimeFilter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Some kinds of items with bounds of their own: at most ``limit`` items, and a ``share`` (0 to 1) of the tokens."""

    kinds: tuple[ItemKind, ...]
    limit: int
    share: float

    def room(self, max_tokens: int | None) -> int | None:
        """Return the tokens that the tier may take of those of a query."""
        if max_tokens is None or self.share >= 1.0:
            return max_tokens
        return max(1, int(max_tokens * self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question to a bank: at most ``limit`` items of at most ``max_tokens`` tokens together come back.

    Where there are ``tiers``, each is ranked and cut by itself, so that none crowds out another: what comes back is,
    tier by tier, what a query for its kinds alone would bring. ``limit`` and the kinds of the scope do not count then.

    Raises:
        ValueError: a kind stands in two tiers.
    """

    text: str
    now: datetime
    limit: int = 20
    max_tokens: int | None = 4096
    effort: Effort = Effort.MID
    scope: Scope = field(default_factory=Scope)
    tiers: tuple[Tier, ...] = ()

    def __post_init__(self) -> None:
        kinds = [kind for tier in self.tiers for kind in tier.kinds]
        if len(set(kinds)) < len(kinds):
            raise ValueError("a kind of items stands in one tier alone")

    @property
    def kinds(self) -> tuple[ItemKind, ...]:
        """The kinds that may come back; empty for all."""
        return tuple(kind for tier in self.tiers for kind in tier.kinds) or self.scope.kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProbe:
    """A question as the arms see it.

    ``topic`` is the text without the people it is about; ``vector`` its embedding, float32 ``(dimension,)``; ``terms``
    its hashed stems, uint32, each once. ``speakers`` are the bank's speakers named in the question, ``phrases`` its
    quoted phrases, ``during`` the time it asks about; ``asks_when`` says that the answer is a time.
    """

    topic: str
    vector: NDArray[np.float32]
    terms: NDArray[np.uint32]
    speakers: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    during: Interval | None = None
    asks_when: bool = False

    @property
    def has_vector(self) -> bool:
        """Whether the bank holds vectors for the question's to be compared with."""
        return bool(self.vector.size)

    @property
    def no_meaning_reason(self) -> str:
        """The reason why nothing can be found by meaning, or an empty text where it can."""
        if not self.has_vector:
            return NO_VECTORS
        return "" if self.vector.any() else _NO_KNOWN_WORDS
