"""The search for stores that cannot search by themselves: an index in memory that reads the store's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.items import Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.domain.triples import Aggregation, TriplePattern
from recollect.store.index.bank_index import GRAPH_FROM_ROWS
from recollect.store.index.feed import ItemSource, RowFeed
from recollect.store.index.indexed_search import IndexedSearch, load_in_scope, row_scope
from recollect.store.index.live_index import LiveIndex
from recollect.store.index.saved_graph import SavedGraph
from recollect.store.index.scan import mask_allowed
from recollect.store.index.triples import TriplePageRequest, count_triple_rows, find_triple_rows, select_page
from recollect.store.search import TriplePage


class IndexedRows(RowFeed, ItemSource, Protocol):
    """The data that a store gives to the index: its rows, and its items by their numbers."""


class MemoryIndex:
    """Implements :class:`recollect.store.search.SearchIndex`, and the methods that a store of triples needs.

    Args:
        rows: the store's tables.
        dimension: the length of the vectors.
        graph: the file in which the graph of a large bank is stored, or ``None`` for no file.
        graph_from: the number of rows from which vector searches go through a graph. -1 means never.
    """

    def __init__(
        self,
        rows: IndexedRows,
        dimension: int,
        *,
        graph: SavedGraph | None = None,
        graph_from: int = GRAPH_FROM_ROWS,
    ) -> None:
        self._rows = rows
        self.live = LiveIndex(rows, dimension, graph, graph_from)

    async def speakers(self) -> tuple[str, ...]:
        return await run_in_thread(self._speakers)

    async def search(
        self, probe: SearchProbe, scope: Scope, weights: Weights, tiers: Sequence[Sequence[ItemKind]] = ()
    ) -> IndexedSearch:
        return await run_in_thread(IndexedSearch, self._rows, self.live, probe, scope, weights, tiers)

    async def nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        return await run_in_thread(self._nearest, vectors, k, floor)

    async def triples(self, pattern: TriplePattern, scope: Scope, page: TriplePageRequest) -> TriplePage:
        """Return a page of the triples in scope that match a pattern."""
        return await run_in_thread(self._triples, pattern, scope, page)

    async def count_triples(self, pattern: TriplePattern, scope: Scope, aggregation: Aggregation) -> int:
        """Return the number of matching triples in scope, or the number of their different subjects or objects."""
        return await run_in_thread(self._count_triples, pattern, scope, aggregation)

    async def linked(
        self, items: Sequence[str], kinds: Sequence[LinkKind], scope: Scope, limit: int | None
    ) -> list[tuple[Item, float]]:
        """Return the items in scope that links connect to any of these items, the heaviest first, with weights.

        The weight of an item is that of its heaviest link.
        """
        return await run_in_thread(self._read_linked, items, kinds, scope, limit)

    def save(self) -> None:
        """Write the graph of a large bank to its file."""
        self.live.save_graph()

    def save_if_idle(self) -> bool:
        """Write the graph if the index is not in use, and do not wait. Return false if the index is in use."""
        return self.live.save_graph_if_idle()

    def _speakers(self) -> tuple[str, ...]:
        with self.live.locked_index() as index:
            return index.table.speakers.names()

    def _nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        with self.live.locked_index() as index:
            found = [
                (index.table.seq.view[rows].tolist(), scores.tolist())
                for rows, scores in index.find_nearest(vectors, k, floor)
            ]
        ids = self._rows.ids_of(sorted({number for numbers, _ in found for number in numbers}))
        return [[(ids[number], score) for number, score in zip(*pair, strict=True) if number in ids] for pair in found]

    def _triples(self, pattern: TriplePattern, scope: Scope, page: TriplePageRequest) -> TriplePage:
        seen = row_scope(self._rows, scope)
        with self.live.locked_index() as index:
            rows = find_triple_rows(index, pattern, seen)
            refs = index.table.seq.view[select_page(index.table, rows, page)]
        loaded = load_in_scope(self._rows, refs.tolist(), scope)
        return TriplePage(items=tuple(item for _, item in loaded), total=len(rows))

    def _count_triples(self, pattern: TriplePattern, scope: Scope, aggregation: Aggregation) -> int:
        seen = row_scope(self._rows, scope)
        with self.live.locked_index() as index:
            return count_triple_rows(index.table, find_triple_rows(index, pattern, seen), aggregation)

    def _read_linked(
        self, items: Sequence[str], kinds: Sequence[LinkKind], scope: Scope, limit: int | None
    ) -> list[tuple[Item, float]]:
        found = self._rows.linked(items, kinds)
        seen = row_scope(self._rows, scope)
        refs = np.array([number for number, _ in found], dtype=np.int64)
        with self.live.locked_index() as index:
            rows = index.table.rows_of(refs)
            inside = (rows >= 0) & np.append(mask_allowed(index, seen), False)[rows]
        weights = dict(found)
        best = sorted(refs[inside].tolist(), key=lambda number: (-weights[number], number))[:limit]
        return [(item, weights[number]) for number, item in load_in_scope(self._rows, best, scope)]
