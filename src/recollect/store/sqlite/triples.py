"""Triples of a bank, and what links join to items (REMem, figures 7 and 8)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from recollect.domain.items import Item
from recollect.domain.links import LinkKind
from recollect.domain.queries import Scope
from recollect.domain.triples import Aggregation, TriplePattern
from recollect.store.index.search import allowed_rows
from recollect.store.index.triples import Page, counted, page_of, triple_rows
from recollect.store.search import TriplePage
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.live import LiveIndex
from recollect.store.sqlite.search import load_in_scope, row_scope
from recollect.store.sqlite.sql import query


def triples_in(database: Database, live: LiveIndex, pattern: TriplePattern, scope: Scope, page: Page) -> TriplePage:
    """A page of the triples in scope that fit a pattern."""
    seen = row_scope(database, scope)
    with live.fresh() as index:
        rows = triple_rows(index, pattern, seen)
        refs = index.table.seq.view[page_of(index.table, rows, page)]
    loaded = load_in_scope(database, refs.tolist(), scope)
    return TriplePage(items=tuple(item for _, item in loaded), total=len(rows))


def count_triples(
    database: Database, live: LiveIndex, pattern: TriplePattern, scope: Scope, aggregation: Aggregation
) -> int:
    """How many triples in scope fit, or how many subjects or objects they have."""
    seen = row_scope(database, scope)
    with live.fresh() as index:
        return counted(index.table, triple_rows(index, pattern, seen), aggregation)


def linked_to(
    database: Database,
    live: LiveIndex,
    items: Sequence[str],
    kinds: Sequence[LinkKind],
    scope: Scope,
    limit: int | None,
) -> list[tuple[Item, float]]:
    """Items in scope that links join to any of these, with the weight of the heaviest, the heaviest first."""
    wanted = {"items": json.dumps(list(items)), "kinds": json.dumps([LinkKind(kind).value for kind in kinds])}
    with database.reading() as connection:
        found = connection.execute(query("linked"), wanted).fetchall()
    seen = row_scope(database, scope)
    refs = np.array([seq for seq, _ in found], dtype=np.int64)
    with live.fresh() as index:
        rows = index.table.rows_of(refs)
        inside = (rows >= 0) & np.append(allowed_rows(index, seen), False)[rows]
    weights = dict(found)
    best = sorted(refs[inside].tolist(), key=lambda seq: (-weights[seq], seq))[:limit]
    return [(item, weights[seq]) for seq, item in load_in_scope(database, best, scope)]
