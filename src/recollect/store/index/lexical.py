"""BM25 over an item's exchange, its passage and its session, from one set of postings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.postings import Counts, Postings
from recollect.store.index.rows import Rows, RowTable

Floats = NDArray[np.float32]

K1 = 1.2
B = 0.75
PASSAGE_REACH = 3
_DENSE = 6


@dataclass(frozen=True, slots=True)
class Documents:
    """One kind of text to score: how many there are, and how much the length of each holds back its score."""

    count: int
    penalty: Floats

    @classmethod
    def of(cls, lengths: Floats, count: int) -> Documents:
        """From the number of terms of each text."""
        mean = float(lengths.sum()) / count or 1.0
        return cls(count, (K1 * (1 - B + B * lengths / mean)).astype(np.float32))


class Lengths:
    """The exchanges, passages and sessions that rows stand for; derived anew after a write."""

    def __init__(self, table: RowTable) -> None:
        alive = table.alive.view
        own = np.where(alive, table.length.view, 0).astype(np.float32)
        exchange = own + np.where(table.answered.view, 0, _gather(own, table.previous.view))
        passage = own.copy()
        for pointer in (table.previous.view, table.following.view):
            at = pointer
            for _ in range(PASSAGE_REACH):
                passage += _gather(own, at)
                at = np.where(at >= 0, pointer[at], -1)
        session = np.bincount(table.session.view, weights=own, minlength=len(table.sessions))
        rows = max(int(alive.sum()), 1)
        self.exchange = Documents.of(np.where(alive, exchange, 0), rows)
        self.passage = Documents.of(np.where(alive, passage, 0), rows)
        self.session = Documents.of(session.astype(np.float32), max(len(table.sessions), 1))
        self.all_alive = bool(alive.all())


class LexicalScan:
    """The three lexical signals of every row for one question: float32 of shape ``(rows,)`` each."""

    def __init__(self, table: RowTable, postings: Postings, lengths: Lengths, terms: NDArray[np.uint32]) -> None:
        exchange, passage, session = _Field(lengths.exchange), _Field(lengths.passage), _Field(lengths.session)
        for term in terms:
            rows, counts = postings.of(term)
            if not lengths.all_alive:
                live = table.alive.view[rows]
                rows, counts = rows[live], counts[live]
            exchange.add(*_exchanged(table, rows, counts))
            passage.add(*_spread(table, rows, counts))
            session.add(table.session.view[rows], counts)
        self.exchange = exchange.share()
        self.passage = passage.share()
        self.session = session.share()[table.session.view]


class _Field:
    """BM25 over one kind of text, as a share of the most that the question's terms could give."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._scores = np.zeros(len(documents.penalty), dtype=np.float32)
        self._most = 0.0

    def add(self, rows: Rows, counts: Counts) -> None:
        frequency = np.bincount(rows, weights=counts, minlength=len(self._scores)).astype(np.float32)
        # A term that is in many texts is scored for all of them: picking would cost more than it saves.
        found = slice(None) if len(rows) * _DENSE > len(frequency) else np.flatnonzero(frequency)
        tf = frequency[found]
        having = int(np.count_nonzero(tf))
        most = math.log(1 + (self._documents.count - having + 0.5) / (having + 0.5)) * (K1 + 1)
        self._scores[found] += np.float32(most) * tf / (tf + self._documents.penalty[found])
        self._most += most

    def share(self) -> Floats:
        return self._scores / np.float32(self._most) if self._most else self._scores


def _exchanged(table: RowTable, rows: Rows, counts: Counts) -> tuple[Rows, Counts]:
    """Occurrences as they count for the row itself and for the reply to it; a row that holds its answer has none."""
    after = table.following.view[rows]
    replies = (after >= 0) & ~table.answered.view[after]
    return np.concatenate([rows, after[replies]]), np.concatenate([counts, counts[replies]])


def _spread(table: RowTable, rows: Rows, counts: Counts) -> tuple[Rows, Counts]:
    """Occurrences as they count for the row itself and for its neighbours in the passage."""
    all_rows, all_counts = [rows], [counts]
    for pointer in (table.previous.view, table.following.view):
        at, having = rows, counts
        for _ in range(PASSAGE_REACH):
            at = pointer[at]
            there = at >= 0
            at, having = at[there], having[there]
            all_rows.append(at)
            all_counts.append(having)
    return np.concatenate(all_rows), np.concatenate(all_counts)


def _gather(values: Floats, at: Rows) -> Floats:
    """``values[at]``, and 0 where ``at`` is -1."""
    return np.where(at >= 0, values[at], np.float32(0)) if len(values) else values
