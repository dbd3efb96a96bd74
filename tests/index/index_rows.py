"""Small banks for the tests of the index: documents as values, batches of them, and what stands next to what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.store.index.bank_index import BankIndex
from recollect.store.index.row_batch import FOREVER, RowBatch
from recollect.store.index.validity import validity_at

DIMENSION = 4


@dataclass(frozen=True, kw_only=True)
class Doc:
    seq: int
    terms: tuple[int, ...] = ()
    session: str = "s"
    order: int = 0
    answered: bool = False
    asks: bool = False
    kind: str = "turn"
    speaker: str = "Ada"
    mentioned: int = 0
    recorded: int = 0
    superseded: int = FOREVER
    vector: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    spans: tuple[tuple[int, int], ...] = ()


def batch(docs: Sequence[Doc]) -> RowBatch:
    spans = [(at, start, end) for at, doc in enumerate(docs) for start, end in doc.spans]
    return RowBatch(
        seqs=np.array([doc.seq for doc in docs], dtype=np.int64),
        kinds=[doc.kind for doc in docs],
        sessions=[doc.session for doc in docs],
        speakers=[doc.speaker for doc in docs],
        orders=np.array([doc.order for doc in docs], dtype=np.int64),
        mentioned=np.array([doc.mentioned for doc in docs], dtype=np.int64),
        recorded=np.array([doc.recorded for doc in docs], dtype=np.int64),
        superseded=np.array([doc.superseded for doc in docs], dtype=np.int64),
        asks=np.array([doc.asks for doc in docs], dtype=np.bool_),
        answered=np.array([doc.answered for doc in docs], dtype=np.bool_),
        vectors=np.array([doc.vector for doc in docs], dtype=np.float32).reshape(len(docs), -1),
        terms=np.array([term for doc in docs for term in doc.terms], dtype=np.uint32),
        lengths=np.array([len(doc.terms) for doc in docs], dtype=np.int32),
        spans=np.array(spans, dtype=np.int64).reshape(-1, 3),
        validity=validity_at(np.array([doc.mentioned for doc in docs], dtype=np.int64)),
        triple_rows=np.empty(0, dtype=np.int64),
        phrases=[],
    )


def built(*batches: Sequence[Doc], dimension: int = DIMENSION) -> BankIndex:
    """An index given these batches, one after the other."""
    index = BankIndex(dimension, -1)
    for docs in batches:
        index.append(batch(docs))
    return index


def living(*batches: Sequence[Doc]) -> dict[int, Doc]:
    """What is left of the batches: by the row that holds it."""
    rows = [doc for docs in batches for doc in docs]
    last = {doc.seq: row for row, doc in enumerate(rows)}
    return {row: doc for row, doc in enumerate(rows) if last[doc.seq] == row}


def neighbours(alive: dict[int, Doc], row: int) -> tuple[list[int], int]:
    """The rows of a row's chain in order, and its place there."""
    here = alive[row]
    chain = [at for at, doc in alive.items() if (doc.kind, doc.session) == (here.kind, here.session)]
    chain.sort(key=lambda at: (alive[at].order, at))
    return chain, chain.index(row)
