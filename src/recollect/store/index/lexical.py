"""Score items by BM25 over their exchange, their passage and their session, from one set of postings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.postings import Postings
from recollect.store.index.row_table import Rows, RowTable

Floats = NDArray[np.float32]
Places = NDArray[np.intp]

K1 = 1.2
B = 0.75
PASSAGE_REACH = 3
_DENSE = 6


@dataclass(frozen=True, slots=True)
class TextLengths:
    """The texts of one kind that are scored: their number, and how much the length of each text reduces its score."""

    count: int
    penalty: Floats

    @classmethod
    def from_lengths(cls, lengths: Floats, count: int) -> TextLengths:
        """Return the documents for texts of these lengths in terms."""
        mean = float(lengths.sum()) / count or 1.0
        return cls(count, (K1 * (1 - B + B * lengths / mean)).astype(np.float32))


class LexicalLengths:
    """The exchanges, passages and sessions of rows, with their lengths. They are derived again after a write.

    ``exchanges`` and ``passages`` are the rows for which a row's words count. In an exchange, these are the row and the
    reply to it. In a passage, these are the row and its neighbours. The shape is ``(rows, n)``, and the number of rows
    stands for a missing neighbour. The type is numpy's index type, because converting the arrays at each question would
    take most of its time.
    """

    def __init__(self, table: RowTable) -> None:
        alive = table.alive.view
        own = np.where(alive, table.length.view, 0).astype(np.float32)
        exchange = own + np.where(table.answered.view, 0, _gather(own, table.previous.view))
        session = np.bincount(table.session.view, weights=own, minlength=len(table.sessions))
        self.exchanges = _pair_exchanges(table)
        self.passages = table.neighbours_of(np.arange(len(table), dtype=np.int32), PASSAGE_REACH).astype(np.intp)
        self.passages[self.passages < 0] = len(table)
        passage = np.append(own, np.float32(0))[self.passages].sum(axis=1)
        rows = max(int(alive.sum()), 1)
        self.exchange = TextLengths.from_lengths(np.where(alive, exchange, 0), rows)
        self.passage = TextLengths.from_lengths(np.where(alive, passage, 0), rows)
        self.session = TextLengths.from_lengths(session.astype(np.float32), max(len(table.sessions), 1))
        self.all_alive = bool(alive.all())


class LexicalScan:
    """The three lexical signals of every row for one question, each float32 of shape ``(rows,)``."""

    def __init__(self, table: RowTable, postings: Postings, lengths: LexicalLengths, terms: NDArray[np.uint32]) -> None:
        exchange, passage, session = (
            _TextScorer(lengths.exchange),
            _TextScorer(lengths.passage),
            _TextScorer(lengths.session),
        )
        for term in terms:
            rows, counts = postings.rows_with(term)
            if not lengths.all_alive:
                live = table.alive.view[rows]
                rows, counts = rows[live], counts[live]
            places, weights = rows.astype(np.intp), counts.astype(np.float64)
            exchange.add(*_spread_occurrences(lengths.exchanges, places, weights))
            passage.add(*_spread_occurrences(lengths.passages, places, weights))
            session.add(table.session.view[places], weights)
        self.exchange = exchange.share()
        self.passage = passage.share()
        self.session = session.share()[table.session.view]


class _TextScorer:
    """The BM25 scores of one kind of text, as a share of the highest score that the question's terms could reach."""

    def __init__(self, documents: TextLengths) -> None:
        self._documents = documents
        self._scores = np.zeros(len(documents.penalty), dtype=np.float32)
        self._most = 0.0

    def add(self, rows: Places | Rows, counts: NDArray[np.float64]) -> None:
        frequency = np.bincount(rows, weights=counts, minlength=len(self._scores))[: len(self._scores)]
        # A term that is in many texts is scored for all texts, because selecting would cost more than it saves.
        # (numpy needs ten times as long to find nonzero numbers as to find true values.)
        found = slice(None) if len(rows) * _DENSE > len(frequency) else np.flatnonzero(frequency > 0)
        tf = frequency[found].astype(np.float32)
        having = int(np.count_nonzero(tf))
        most = math.log(1 + (self._documents.count - having + 0.5) / (having + 0.5)) * (K1 + 1)
        self._scores[found] += np.float32(most) * tf / (tf + self._documents.penalty[found])
        self._most += most

    def share(self) -> Floats:
        return self._scores / np.float32(self._most) if self._most else self._scores


def _pair_exchanges(table: RowTable) -> Places:
    """Return each row and the reply to it. A following row that contains its own answer is not a reply."""
    rows = np.arange(len(table))
    after = table.following.view
    replies = (after >= 0) & ~table.answered.view[after]
    return np.stack([rows, np.where(replies, after, len(table))], axis=1).astype(np.intp)


def _spread_occurrences(reach: Places, rows: Places, counts: NDArray[np.float64]) -> tuple[Places, NDArray[np.float64]]:
    """Return each occurrence once for every row for which it counts."""
    # All rows exist, so that nothing is clipped. numpy is faster in this mode, because it does not check the rows.
    return reach.take(rows, axis=0, mode="clip").ravel(), np.repeat(counts, reach.shape[1])


def _gather(values: Floats, at: Rows) -> Floats:
    """Return ``values[at]``, and 0 where ``at`` is -1."""
    return np.where(at >= 0, values[at], np.float32(0)) if len(values) else values
