"""The columns that the index needs of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FOREVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Items as columns, with ``n`` rows each.

    - ``seqs``: int64, the store's numbers of the items.
    - ``kinds``, ``sessions``, ``speakers``: their names.
    - ``orders``: int64, the position in the session.
    - ``mentioned``, ``recorded``, ``superseded``: int64 microseconds. ``superseded`` is :data:`FOREVER` for a valid
      item.
    - ``asks``, ``answered``: bool.
    - ``vectors``: float32 ``(n, dimension)``.
    - ``terms``: uint32, the terms of all rows in one array. ``lengths``: int32, the number of terms of each row.
    - ``spans``: int64 ``(m, 3)``: a row of the batch, and start and end in microseconds of a time that it speaks of.
    - ``validity``: int64 ``(n, 4)``: the edges of start and end (:class:`~recollect.domain.validity.Validity`).
    - ``triple_rows``: int64 ``(t,)``: the rows of the batch that are triples.
    - ``phrases``: the keys of the triples' phrases: subject, predicate and object of each, one triple after another.
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
