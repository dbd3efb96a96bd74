"""What the index needs to know of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FOREVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Items as columns, ``n`` rows each.

    ``seqs``: int64, the store's numbers of the items. ``kinds``, ``sessions``, ``speakers``: their names. ``orders``:
    int64, the place in the session. ``mentioned``, ``recorded``, ``superseded``: int64 microseconds, the last
    :data:`FOREVER` for an item that holds. ``asks``, ``answered``: bool.
    ``vectors``: float32 ``(n, dimension)``. ``terms``: uint32, all rows' terms joined; ``lengths``: int32, how many
    each row has. ``spans``: int64 ``(m, 3)``: row within the batch, start and end in microseconds of a time it speaks
    of. ``validity``: int64 ``(n, 4)``: the edges of its start and of its end
    (:class:`recollect.domain.validity.Validity`). ``triple_rows``: int64 ``(t,)``: rows within the batch that are
    triples; ``phrases``: the keys of their phrases, the subject, predicate and object of each, one after another.
    """

    seqs: NDArray[np.int64]
    kinds: list[str]
    sessions: list[str]
    speakers: list[str]
    orders: NDArray[np.int64]
    mentioned: NDArray[np.int64]
    recorded: NDArray[np.int64]
    superseded: NDArray[np.int64]
    asks: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    vectors: NDArray[np.float32]
    terms: NDArray[np.uint32]
    lengths: NDArray[np.int32]
    spans: NDArray[np.int64]
    validity: NDArray[np.int64]
    triple_rows: NDArray[np.int64]
    phrases: list[str]
