"""The view of a bank for one question: the index ranks, and the store provides links, phrases and items."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Signals, Weights
from recollect.domain.time import to_micros
from recollect.store.index.feed import ItemSource
from recollect.store.index.live_index import LiveIndex
from recollect.store.index.row_table import Rows
from recollect.store.index.scan import IndexSearch, RowScope
from recollect.store.index.vectors import compute_cosines
from recollect.store.search import Edges, Hits, Refs, join_hits

Floats = NDArray[np.float32]
P = ParamSpec("P")
T = TypeVar("T")

INLINE_ROWS = 20_000


class IndexedSearch:
    """Implements :class:`recollect.store.search.Search` over the index in memory.

    In a small bank, a scan takes less time than passing it to a thread. So it is done at once, unless another thread is
    using the index. In a larger bank it is done in a thread, so that the event loop stays free.
    """

    def __init__(
        self,
        items: ItemSource,
        live: LiveIndex,
        probe: SearchProbe,
        scope: Scope,
        weights: Weights,
        tiers: Sequence[Sequence[ItemKind]] = (),
    ) -> None:
        self._items, self._live, self._probe, self._scope = items, live, probe, scope
        self._comparing = threading.Lock()
        with live.locked_index() as index:
            self._index = index
            kinds = [tuple(kind.value for kind in tier) for tier in tiers]
            self._search = IndexSearch(index, probe, row_scope(items, scope), weights, kinds)

    async def semantic(self, k: int) -> Hits:
        return await self._run_in_thread(self._semantic, k)

    async def lexical(self, k: int) -> Hits:
        return await self._run_in_thread(self._ranked, "lexical", k)

    async def temporal(self, k: int) -> Hits:
        return await self._run_in_thread(self._ranked, "temporal", k)

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        return await self._run_in_thread(self._within_time, refs)

    async def signals(self, refs: Refs, graph: Floats) -> Signals:
        return await self._run_in_thread(self._signals, refs, graph)

    async def edges(self, refs: Refs, limit: int) -> Edges:
        return await self._run_in_thread(self._edges, refs, limit)

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        return await self._run_in_thread(load_in_scope, self._items, refs.tolist(), self._scope)

    async def _run_in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if len(self._index) <= INLINE_ROWS:
            with self._live.try_locked() as held:
                if held:
                    return work(*args, **kwargs)
        return await run_in_thread(work, *args, **kwargs)

    def _semantic(self, k: int) -> Hits:
        with self._comparing:
            self._compare()
        return self._ranked("semantic", k)

    def _compare(self) -> None:
        """Compare the question with every vector while other arms use the index."""
        with self._live.locked():
            matrix = self._search.vectors_to_compare()
        if matrix is not None:
            own = compute_cosines(matrix, self._probe.vector)
            with self._live.locked():
                self._search.set_cosines(own)

    def _ranked(self, arm: str, k: int) -> Hits:
        with self._live.locked():
            found = getattr(self._search, arm)(k)
            note = self._index.vectors.note if arm == "semantic" else ""
            hits = [Hits(refs=self._index.table.seq.view[rows], scores=scores, note=note) for rows, scores in found]
            return join_hits(hits) if self._search.has_tiers else hits[0]

    def _signals(self, refs: Refs, graph: Floats) -> Signals:
        phrases = self._phrase_hits()
        with self._live.locked():
            return self._search.signals(self._rows(refs), phrases=self._rows(phrases), graph=graph)

    def _within_time(self, refs: Refs) -> NDArray[np.bool_]:
        with self._live.locked():
            return self._search.mask_within_time(self._rows(refs))

    def _phrase_hits(self) -> Refs:
        hits = self._items.holding(self._probe.phrases) if self._probe.phrases else []
        return np.array(hits, dtype=np.int64)

    def _edges(self, refs: Refs, limit: int) -> Edges:
        edges = self._items.edges(refs)
        edges = _select_edges(edges, np.flatnonzero(self._are_open(edges)))
        return _select_edges(edges, np.flatnonzero(_heaviest(edges, limit)))

    def _are_open(self, edges: Edges) -> NDArray[np.bool_]:
        """Return which edges lead to an item in scope. With tiers, both ends must be in the same tier."""
        with self._live.locked():
            origins, targets = self._rows(edges.origins), self._rows(edges.targets)
            tiers = self._search.tiers_of(np.maximum(targets, 0))
            same = tiers == self._search.tiers_of(np.maximum(origins, 0))
            return (targets >= 0) & (tiers >= 0) & same if self._search.has_tiers else (targets >= 0) & (tiers >= 0)

    def _rows(self, refs: Refs) -> Rows:
        return self._index.table.rows_of(refs)


def _select_edges(edges: Edges, at: NDArray[np.intp]) -> Edges:
    return Edges(origins=edges.origins[at], targets=edges.targets[at], kinds=edges.kinds[at], weights=edges.weights[at])


def _heaviest(edges: Edges, limit: int) -> NDArray[np.bool_]:
    """Return which edges are among the ``limit`` heaviest of their origin."""
    order = np.lexsort((edges.targets, -edges.weights, edges.origins))
    _, starts = np.unique(edges.origins[order], return_index=True)
    firsts = np.repeat(starts, np.diff(np.append(starts, len(order))))
    heaviest = np.zeros(len(order), dtype=np.bool_)
    heaviest[order] = np.arange(len(order)) - firsts < limit
    return heaviest


def load_in_scope(items: ItemSource, numbers: Sequence[int], scope: Scope) -> list[tuple[int, Item]]:
    """Return numbers and items in the order of ``numbers``.

    If the scope has a moment, return the items as they were then.
    """
    loaded, then = items.load(numbers), scope.as_of
    return loaded if then is None else [(number, item.as_of(then)) for number, item in loaded]


def row_scope(items: ItemSource, scope: Scope) -> RowScope:
    """Return a scope in the terms of the index."""
    return RowScope(
        kinds=tuple(kind.value for kind in scope.kinds),
        sessions=scope.sessions,
        speakers=scope.speakers,
        during=scope.during,
        recorded_by=None if scope.as_of is None else to_micros(scope.as_of),
        hidden=frozenset(items.hidden_by(scope.exclude)) if scope.exclude else frozenset(),
        when=scope.when,
    )
