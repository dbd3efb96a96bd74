"""The interface of searching: the view of a bank for one question, with the hits of arms and the signals of items."""

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
    """The hits of an arm: references to items, best first, and their scores, both of shape ``(n,)``.

    In a search with tiers, the hits of the first tier come first, and the hits of each tier are sorted best first.
    ``sizes`` are the numbers of hits of the tiers. It is empty for a search without tiers. ``note`` is for the arm's
    line in the receipt. It tells the user how the arm searched.
    """

    refs: Refs
    scores: Floats
    note: str = ""
    sizes: tuple[int, ...] = ()

    def by_tier(self) -> tuple[Hits, ...]:
        """Return the hits of each tier. If the search has no tiers, return all hits as one tier."""
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
    """Links as they are walked, each in one direction: from, to (references), kind and weight, all of shape ``(n,)``.

    ``kinds`` are positions in :data:`LINK_KINDS`, int8.
    """

    origins: Refs
    targets: Refs
    kinds: NDArray[np.int8]
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TriplePage:
    """A page of the matching triples, in their order, and the total number of matches."""

    items: tuple[Item, ...]
    total: int


class SearchIndex(Protocol):
    """The search over the items of a bank.

    A store whose engine can search implements this over the engine. Other stores give their rows to
    :class:`recollect.store.index.memory.MemoryIndex`. ``design/store-contract.md`` describes what is exact in every
    engine, and what an engine may approximate.
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
    """The view of a bank for one question. Every method keeps to the scope and the tiers with which it was opened.

    With tiers, ``semantic``, ``lexical`` and ``temporal`` find the ``k`` best of each tier.
    """

    async def semantic(self, k: int) -> Hits: ...

    async def lexical(self, k: int) -> Hits: ...

    async def temporal(self, k: int) -> Hits: ...

    async def edges(self, refs: Refs, limit: int) -> Edges:
        """Return the ``limit`` heaviest links of each item. Both ends of a link are in scope and in the same tier."""
        ...

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        """Return which items overlap the time in the question (equation 13)."""
        ...

    async def signals(self, refs: Refs, graph: Floats) -> Signals: ...

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        """Return references and items in the order of ``refs``. Items that were removed in the meantime are left out.

        If the scope has ``as_of``, each item is returned as it was then (:meth:`Item.as_of`).
        """
        ...
