"""A question's view of a bank: the index for ranking, the file for links, phrases and words."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Probe, Scope
from recollect.domain.signals import Signals, Weights
from recollect.domain.time import to_micros
from recollect.store.index.rows import Rows
from recollect.store.index.search import IndexSearch, RowScope
from recollect.store.index.vectors import cosines_with
from recollect.store.search import LINK_KINDS, Edges, Hits, Refs, joined_hits
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.live import LiveIndex
from recollect.store.sqlite.rows import item_from
from recollect.store.sqlite.sql import phrase, query

Floats = NDArray[np.float32]
P = ParamSpec("P")
T = TypeVar("T")

INLINE_ROWS = 20_000
_KIND_CODES = {kind.value: code for code, kind in enumerate(LINK_KINDS)}


class SqliteSearch:
    """Implements :class:`recollect.store.protocol.Search`.

    Over a small bank a scan takes less than handing it to a thread would: it is done at once. Over a larger one it
    goes to a thread, so that the event loop stays free.
    """

    def __init__(
        self,
        database: Database,
        live: LiveIndex,
        probe: Probe,
        scope: Scope,
        weights: Weights,
        tiers: Sequence[Sequence[ItemKind]] = (),
    ) -> None:
        self._database, self._live, self._probe, self._scope = database, live, probe, scope
        self._comparing = threading.Lock()
        with live.fresh() as index:
            self._index = index
            kinds = [tuple(kind.value for kind in tier) for tier in tiers]
            self._search = IndexSearch(index, probe, row_scope(database, scope), weights, kinds)

    async def semantic(self, k: int) -> Hits:
        return await self._done(self._semantic, k)

    async def lexical(self, k: int) -> Hits:
        return await self._done(self._ranked, "lexical", k)

    async def temporal(self, k: int) -> Hits:
        return await self._done(self._ranked, "temporal", k)

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        with self._live.held():
            return self._search.within_time(self._rows(refs))

    async def signals(self, refs: Refs, graph: Floats) -> Signals:
        return await self._done(self._signals, refs, graph)

    async def edges(self, refs: Refs, limit: int) -> Edges:
        return await self._done(self._edges, refs, limit)

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        return await self._done(load_in_scope, self._database, refs.tolist(), self._scope)

    async def _done(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if len(self._index) <= INLINE_ROWS:
            return work(*args, **kwargs)
        return await asyncio.to_thread(work, *args, **kwargs)

    def _semantic(self, k: int) -> Hits:
        with self._comparing:
            self._compare()
        return self._ranked("semantic", k)

    def _compare(self) -> None:
        """Compare the question with every vector while other arms use the index."""
        with self._live.held():
            matrix = self._search.to_compare()
        if matrix is not None:
            own = cosines_with(matrix, self._probe.vector)
            with self._live.held():
                self._search.compared(own)

    def _ranked(self, arm: str, k: int) -> Hits:
        with self._live.held():
            found = getattr(self._search, arm)(k)
            note = self._index.vectors.note if arm == "semantic" else ""
            hits = [Hits(refs=self._index.table.seq.view[rows], scores=scores, note=note) for rows, scores in found]
            return joined_hits(hits) if self._search.has_tiers else hits[0]

    def _signals(self, refs: Refs, graph: Floats) -> Signals:
        phrases = self._phrase_hits()
        with self._live.held():
            return self._search.signals(self._rows(refs), phrases=self._rows(phrases), graph=graph)

    def _phrase_hits(self) -> Refs:
        if not self._probe.phrases:
            return np.empty(0, dtype=np.int64)
        match = " OR ".join(map(phrase, self._probe.phrases))
        with self._database.reading() as connection:
            hits = [seq for (seq,) in connection.execute(query("phrase"), (match,))]
        return np.array(hits, dtype=np.int64)

    def _edges(self, refs: Refs, limit: int) -> Edges:
        with self._database.reading() as connection:
            found = connection.execute(query("edges"), {"refs": json.dumps(refs.tolist())}).fetchall()
        if not found:
            return _edges_of(*np.empty((4, 0)))
        origins, targets, kinds, weights = zip(*found, strict=True)
        edges = _edges_of(origins, targets, [_KIND_CODES[kind] for kind in kinds], weights)
        edges = _picked(edges, np.flatnonzero(self._are_open(edges)))
        return _picked(edges, np.flatnonzero(_heaviest(edges, limit)))

    def _are_open(self, edges: Edges) -> NDArray[np.bool_]:
        """Return which edges lead to an item in scope, and stay in their tier."""
        with self._live.held():
            origins, targets = self._rows(edges.origins), self._rows(edges.targets)
            tiers = self._search.tiers_of(np.maximum(targets, 0))
            same = tiers == self._search.tiers_of(np.maximum(origins, 0))
            return (targets >= 0) & (tiers >= 0) & same if self._search.has_tiers else (targets >= 0) & (tiers >= 0)

    def _rows(self, refs: Refs) -> Rows:
        return self._index.table.rows_of(refs)


def _edges_of(origins: ArrayLike, targets: ArrayLike, kinds: ArrayLike, weights: ArrayLike) -> Edges:
    return Edges(
        origins=np.asarray(origins, dtype=np.int64),
        targets=np.asarray(targets, dtype=np.int64),
        kinds=np.asarray(kinds, dtype=np.int8),
        weights=np.asarray(weights, dtype=np.float32),
    )


def _picked(edges: Edges, at: NDArray[np.intp]) -> Edges:
    return _edges_of(edges.origins[at], edges.targets[at], edges.kinds[at], edges.weights[at])


def _heaviest(edges: Edges, limit: int) -> NDArray[np.bool_]:
    """Which edges are among the ``limit`` heaviest of their origin."""
    order = np.lexsort((edges.targets, -edges.weights, edges.origins))
    _, starts = np.unique(edges.origins[order], return_index=True)
    firsts = np.repeat(starts, np.diff(np.append(starts, len(order))))
    heaviest = np.zeros(len(order), dtype=np.bool_)
    heaviest[order] = np.arange(len(order)) - firsts < limit
    return heaviest


def load_items(database: Database, seqs: Sequence[int]) -> list[tuple[int, Item]]:
    """Numbers and items in that order; items that are gone meanwhile are left out."""
    with database.reading() as connection:
        return loaded_items(connection, seqs)


def load_in_scope(database: Database, seqs: Sequence[int], scope: Scope) -> list[tuple[int, Item]]:
    """What :func:`load_items` gives; in a scope with a moment, items as they were then."""
    loaded, then = load_items(database, seqs), scope.as_of
    return loaded if then is None else [(seq, item.as_of(then)) for seq, item in loaded]


def loaded_items(connection: sqlite3.Connection, seqs: Sequence[int]) -> list[tuple[int, Item]]:
    """What :func:`load_items` gives, in the caller's transaction."""
    rows = connection.execute(query("items"), (json.dumps(list(seqs)),))
    by_seq = {row[0]: item_from(row) for row in rows}
    return [(seq, by_seq[seq]) for seq in seqs if seq in by_seq]


def row_scope(database: Database, scope: Scope) -> RowScope:
    """A scope in the index's terms."""
    return RowScope(
        kinds=tuple(kind.value for kind in scope.kinds),
        sessions=scope.sessions,
        speakers=scope.speakers,
        during=scope.during,
        recorded_by=None if scope.as_of is None else to_micros(scope.as_of),
        hidden=frozenset(_hidden(database, scope.exclude)) if scope.exclude else frozenset(),
        when=scope.when,
    )


def _hidden(database: Database, ids: frozenset[str]) -> list[int]:
    with database.reading() as connection:
        return [seq for (seq,) in connection.execute(query("hidden"), {"ids": json.dumps(list(ids))})]
