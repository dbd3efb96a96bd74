"""One question's view of a bank: what arms find, and what is known of what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Signals, Weights

Refs = NDArray[np.int64]
Floats = NDArray[np.float32]

LINK_KINDS = tuple(LinkKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What an arm found: references to items, best first, and its scores; both of shape ``(n,)``.

    Of a search with tiers, the hits of the first tier come first, best first in each tier; ``sizes`` says how many are
    of each tier, and is empty for a search without tiers. ``note`` is for the arm's line in the receipt: what a user
    should know of how it searched.
    """

    refs: Refs
    scores: Floats
    note: str = ""
    sizes: tuple[int, ...] = ()

    def by_tier(self) -> tuple[Hits, ...]:
        """Return the hits of each tier; all of them as one tier where the search has none."""
        if not self.sizes:
            return (self,)
        ends = np.cumsum(self.sizes)[:-1]
        parts = zip(np.split(self.refs, ends), np.split(self.scores, ends), strict=True)
        return tuple(Hits(refs=refs, scores=scores, note=self.note) for refs, scores in parts)


def join_hits(parts: Sequence[Hits]) -> Hits:
    """Return the hits of several tiers as one value."""
    return Hits(
        refs=np.concatenate([part.refs for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
        note=next((part.note for part in parts if part.note), ""),
        sizes=tuple(len(part.refs) for part in parts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Links as they are walked, one way each: from, to (references), kind and weight, all of shape ``(n,)``.

    ``kinds`` are places in :data:`LINK_KINDS`, int8.
    """

    origins: Refs
    targets: Refs
    kinds: NDArray[np.int8]
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplePage:
    """Some of the triples that were asked for, in their order, and how many there are in all."""

    items: tuple[Item, ...]
    total: int


class SearchIndex(Protocol):
    """How the items of a bank are searched.

    A store whose engine searches by itself implements this over the engine; the others hand their rows to
    :class:`recollect.store.index.memory.MemoryIndex`. ``design/store-contract.md`` says what is exact in every engine
    and what an engine may approximate.
    """

    async def speakers(self) -> tuple[str, ...]: ...

    async def search(
        self, probe: SearchProbe, scope: Scope, weights: Weights, tiers: Sequence[Sequence[ItemKind]] = ()
    ) -> Search:
        """See :meth:`recollect.store.protocol.StoreReader.search`."""
        ...

    async def nearest(self, vectors: Floats, k: int, floor: float) -> list[list[tuple[str, float]]]:
        """See :meth:`recollect.store.protocol.StoreReader.nearest`."""
        ...


class Search(Protocol):
    """One question's view of a bank. Every method keeps to the scope and the tiers that it was opened with.

    With tiers, ``semantic``, ``lexical`` and ``temporal`` find the ``k`` best of each tier.
    """

    async def semantic(self, k: int) -> Hits: ...

    async def lexical(self, k: int) -> Hits: ...

    async def temporal(self, k: int) -> Hits: ...

    async def edges(self, refs: Refs, limit: int) -> Edges:
        """Links of items, the ``limit`` heaviest of each, both ends in scope and in the same tier."""
        ...

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        """Which items overlap the time asked about (equation 13)."""
        ...

    async def signals(self, refs: Refs, graph: Floats) -> Signals: ...

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        """References and items in that order; items that are gone meanwhile are left out.

        In a scope with ``as_of``, items are given as they were then (:meth:`Item.as_of`).
        """
        ...
