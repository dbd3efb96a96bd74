"""A question's view of a bank: the index for ranking, the file for links, phrases and words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item
from recollect.domain.links import LinkKind
from recollect.domain.queries import Probe, Scope
from recollect.domain.signals import Signals, Weights
from recollect.domain.time import to_micros
from recollect.store.index.rows import Rows
from recollect.store.index.search import IndexSearch, RowScope
from recollect.store.protocol import Edges, Hits, Refs
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.live import LiveIndex
from recollect.store.sqlite.rows import item_from
from recollect.store.sqlite.sql import query

Floats = NDArray[np.float32]


class SqliteSearch:
    """Implements :class:`recollect.store.protocol.Search`. Work is done in threads, one at a time over the index."""

    def __init__(self, database: Database, live: LiveIndex, probe: Probe, scope: Scope, weights: Weights) -> None:
        self._database, self._live, self._probe = database, live, probe
        with live.fresh() as index:
            self._index = index
            self._search = IndexSearch(index, probe, _row_scope(database, scope), weights)

    async def semantic(self, k: int) -> Hits:
        return await asyncio.to_thread(self._ranked, "semantic", k)

    async def lexical(self, k: int) -> Hits:
        return await asyncio.to_thread(self._ranked, "lexical", k)

    async def temporal(self, k: int) -> Hits:
        return await asyncio.to_thread(self._ranked, "temporal", k)

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        with self._live.held(self._index):
            return self._search.within_time(self._rows(refs))

    async def signals(self, refs: Refs, graph: Floats) -> Signals:
        return await asyncio.to_thread(self._signals, refs, graph)

    async def edges(self, refs: Refs, limit: int) -> Edges:
        return await asyncio.to_thread(self._edges, refs, limit)

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        return await asyncio.to_thread(load_items, self._database, refs.tolist())

    def _ranked(self, arm: str, k: int) -> Hits:
        with self._live.held(self._index):
            rows, scores = getattr(self._search, arm)(k)
            return Hits(refs=self._index.table.seq.view[rows], scores=scores)

    def _signals(self, refs: Refs, graph: Floats) -> Signals:
        phrases = self._phrase_hits()
        with self._live.held(self._index):
            return self._search.signals(self._rows(refs), phrases=self._index.table.rows_of(phrases), graph=graph)

    def _phrase_hits(self) -> list[int]:
        if not self._probe.phrases:
            return []
        match = " OR ".join('"' + phrase.replace('"', '""').replace("\0", " ") + '"' for phrase in self._probe.phrases)
        with self._database.reading() as connection:
            return [seq for (seq,) in connection.execute(query("phrase"), (match,))]

    def _edges(self, refs: Refs, limit: int) -> Edges:
        with self._database.reading() as connection:
            found = connection.execute(query("edges"), {"refs": json.dumps(refs.tolist())}).fetchall()
        found.sort(key=lambda edge: (edge[0], -edge[3]))
        kept, seen = [], {}
        for edge in found:
            seen[edge[0]] = seen.get(edge[0], 0) + 1
            if seen[edge[0]] <= limit:
                kept.append(edge)
        return self._in_scope(kept)

    def _in_scope(self, edges: Sequence[tuple[int, int, str, float]]) -> Edges:
        targets = np.array([edge[1] for edge in edges], dtype=np.int64)
        with self._live.held(self._index):
            table = self._index.table
            rows = self._rows(targets)
            allowed = (rows >= 0) & self._search.allowed(np.maximum(rows, 0)) if len(table) else rows >= 0
        kept = [edge for edge, fine in zip(edges, allowed.tolist(), strict=True) if fine]
        return Edges(
            origins=np.array([edge[0] for edge in kept], dtype=np.int64),
            targets=np.array([edge[1] for edge in kept], dtype=np.int64),
            kinds=tuple(LinkKind(edge[2]) for edge in kept),
            weights=np.array([edge[3] for edge in kept], dtype=np.float32),
        )

    def _rows(self, refs: Refs) -> Rows:
        return self._index.table.rows_or_none(refs.tolist())


def load_items(database: Database, seqs: Sequence[int]) -> list[tuple[int, Item]]:
    """Numbers and items in that order; items that are gone meanwhile are left out."""
    with database.reading() as connection:
        rows = connection.execute(query("items"), (json.dumps(list(seqs)),)).fetchall()
    by_seq = {row[0]: item_from(row) for row in rows}
    return [(seq, by_seq[seq]) for seq in seqs if seq in by_seq]


def _row_scope(database: Database, scope: Scope) -> RowScope:
    return RowScope(
        kinds=tuple(kind.value for kind in scope.kinds),
        sessions=scope.sessions,
        speakers=scope.speakers,
        during=scope.during,
        recorded_by=None if scope.as_of is None else to_micros(scope.as_of),
        hidden=frozenset(_hidden(database, scope.exclude)) if scope.exclude else frozenset(),
    )


def _hidden(database: Database, ids: frozenset[str]) -> list[int]:
    with database.reading() as connection:
        return [seq for (seq,) in connection.execute(query("hidden"), {"ids": json.dumps(list(ids))})]
