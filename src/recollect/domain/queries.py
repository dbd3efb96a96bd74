"""Queries to a bank."""

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
    "the bank holds no vectors, so it is searched only by words, links and time. "
    "`recollect rebuild` with an embedder adds vectors"
)
"""The note in receipts and in lists of banks for a bank with the embedder ``none``."""

_NO_KNOWN_WORDS: Final = "the question has no words that the embedder knows"


class Effort(StrEnum):
    """The effort of a search: how many candidates each arm returns, and how far the graph is followed."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The restrictions of a recall. The store applies them, so that a search for k items returns k items.

    ``during`` keeps items that speak of this time or were said in it. ``as_of`` keeps what was recorded by this moment.
    ``exclude`` contains ids of items or messages that have been seen already (MemR3's mask). ``when`` compares the
    start and the end of items (:func:`recollect.domain.validity.matches_filter`). An empty tuple does not restrict.
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
    """Kinds of items with their own limits: at most ``limit`` items, and a ``share`` (0 to 1) of the tokens."""

    kinds: tuple[ItemKind, ...]
    limit: int
    share: float

    def room(self, max_tokens: int | None) -> int | None:
        """Return the number of tokens that the tier may use of the tokens of a query."""
        if max_tokens is None or self.share >= 1.0:
            return max_tokens
        return max(1, int(max_tokens * self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question to a bank. At most ``limit`` items with at most ``max_tokens`` tokens together are returned.

    If there are ``tiers``, each tier is ranked and cut separately, so that no tier displaces another. The result is,
    tier by tier, the result of a query for the kinds of that tier alone. ``limit`` and the kinds of the scope are then
    not used.

    Raises:
        ValueError: a kind is in two tiers.
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
            raise ValueError("a kind of items must not be in two tiers")

    @property
    def kinds(self) -> tuple[ItemKind, ...]:
        """Return the kinds that may be returned. Empty means all."""
        return tuple(kind for tier in self.tiers for kind in tier.kinds) or self.scope.kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProbe:
    """A question in the form that the arms search with.

    ``topic`` is the text without the people it is about. ``vector`` is its embedding, float32 ``(dimension,)``.
    ``terms`` are its hashed stems, uint32, each once. ``speakers`` are the bank's speakers that the question names.
    ``phrases`` are its quoted phrases. ``during`` is the time it asks about. ``asks_when`` is true if the answer is a
    time.
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
        """Return true if the bank has vectors to compare the question with."""
        return bool(self.vector.size)

    @property
    def no_meaning_reason(self) -> str:
        """Return the reason why a search by meaning is not possible, or an empty text if it is possible."""
        if not self.has_vector:
            return NO_VECTORS
        return "" if self.vector.any() else _NO_KNOWN_WORDS
