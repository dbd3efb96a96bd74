"""Convert rows of items to the columns of the index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.domain.triples import fold_phrase
from recollect.store.index.row_batch import FOREVER, RowBatch
from recollect.store.index.validity import Micros, span_edges, triple_validity, validity_at
from recollect.store.sqlite.rows import Row, reports_damage
from recollect.store.sqlite.vector_rows import unpack_vectors

_MINUTE = 60_000_000


@reports_damage
def make_batch(
    rows: Sequence[Row], spans: Sequence[Row], triples: Sequence[Row], embedder: tuple[str, int]
) -> RowBatch:
    """Return items as columns for the index. ``embedder`` is the name of the embedder and its dimension.

    ``spans`` are the times that the items speak of: item, start and end, start and end again on the calendar, and
    whether it is a range. ``triples`` are the item, its phrases, whether it has its own time, and the edges of that
    time's start and end on the calendar. An open end is :data:`recollect.domain.validity.OPEN_EDGES`, and an open start
    is its negative.
    """
    seqs, kinds, sessions, speakers, orders, mentioned, recorded, superseded, asks, answered, vectors, terms, zones = (
        zip(*rows, strict=True)
    )
    numbers, said = np.array(seqs, dtype=np.int64), np.array(mentioned, dtype=np.int64)
    times = _map_to_rows(np.array(spans, dtype=np.int64).reshape(-1, 6), numbers)
    edges = _map_to_rows(np.array([(row[0], *row[4:]) for row in triples], dtype=np.int64).reshape(-1, 6), numbers)
    return RowBatch(
        seqs=numbers,
        kinds=list(kinds),
        sessions=list(sessions),
        speakers=list(speakers),
        orders=np.array(orders, dtype=np.int64),
        mentioned=said,
        recorded=np.array(recorded, dtype=np.int64),
        superseded=np.array([FOREVER if moment is None else moment for moment in superseded], dtype=np.int64),
        asks=np.array(asks, dtype=np.bool_),
        answered=np.array(answered, dtype=np.bool_),
        vectors=unpack_vectors(vectors, *embedder),
        terms=np.frombuffer(b"".join(terms), dtype="<u4").astype(np.uint32),
        lengths=np.array([len(blob) // 4 for blob in terms], dtype=np.int32),
        spans=times[:, :3],
        validity=_compute_validity(said + np.array(zones, dtype=np.int64) * _MINUTE, times, edges),
        triple_rows=edges[:, 0],
        phrases=[fold_phrase(phrase) for row in triples for phrase in row[1:4]],
    )


def _map_to_rows(table: Micros, seqs: Micros) -> Micros:
    """Replace the items in the first column of a table by their rows. Return the table."""
    table[:, 0] = np.searchsorted(seqs, table[:, 0])
    return table


def _compute_validity(said: Micros, times: Micros, edges: Micros) -> Micros:
    """Return when items are valid.

    A triple is valid for its own time. Another item is valid over the times that it speaks of, or else at the moment
    when it was said.
    """
    held = validity_at(said)
    if len(times):
        there, over = span_edges(times[:, 0], times[:, 3], times[:, 4], times[:, 5] != 0)
        held[there] = over
    own = edges[edges[:, 1] != 0]
    held[own[:, 0]] = triple_validity(own[:, 2:])
    return held
