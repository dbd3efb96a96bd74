"""The columns of the index, with one row for each item, and the neighbours of each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.store.index.grow_array import GrowArray
from recollect.store.index.row_batch import FOREVER, RowBatch

Rows = NDArray[np.int32]


class NameCodes:
    """Names as small integers, numbered in the order in which they are first seen."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def encode(self, names: Sequence[str]) -> NDArray[np.int32]:
        codes = self._codes
        for name in dict.fromkeys(names):
            codes.setdefault(name, len(codes))
        return np.fromiter(map(codes.__getitem__, names), dtype=np.int32, count=len(names))

    def find(self, names: Iterable[str]) -> list[int]:
        """Return the codes of those names that are known."""
        return [self._codes[name] for name in names if name in self._codes]

    def names(self) -> tuple[str, ...]:
        return tuple(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


class RowTable:
    """Columns over all rows. A row that was replaced or removed stays, but is no longer ``alive``.

    ``current`` are the live rows of valid items. The row of a superseded item is alive, because a question may be about
    the past. ``previous`` and ``following`` are the neighbouring rows of the same kind in the same session, or -1.
    ``held`` is int64 ``(rows, 4)`` (:class:`recollect.store.index.row_batch.RowBatch`). ``triple`` is int32 ``(rows,
    3)``: the codes of a triple's subject, predicate and object, or -1 for a row that is not a triple.
    """

    def __init__(self) -> None:
        self.seq: GrowArray[np.int64] = GrowArray(np.int64)
        self.kind: GrowArray[np.int32] = GrowArray(np.int32)
        self.session: GrowArray[np.int32] = GrowArray(np.int32)
        self.speaker: GrowArray[np.int32] = GrowArray(np.int32)
        self.order: GrowArray[np.int64] = GrowArray(np.int64)
        self.mentioned: GrowArray[np.int64] = GrowArray(np.int64)
        self.recorded: GrowArray[np.int64] = GrowArray(np.int64)
        self.superseded: GrowArray[np.int64] = GrowArray(np.int64)
        self.asks: GrowArray[np.bool_] = GrowArray(np.bool_)
        self.answered: GrowArray[np.bool_] = GrowArray(np.bool_)
        self.dated: GrowArray[np.bool_] = GrowArray(np.bool_)
        self.length: GrowArray[np.int32] = GrowArray(np.int32)
        self.alive: GrowArray[np.bool_] = GrowArray(np.bool_)
        self.current: GrowArray[np.bool_] = GrowArray(np.bool_)
        self.previous: GrowArray[np.int32] = GrowArray(np.int32)
        self.following: GrowArray[np.int32] = GrowArray(np.int32)
        self.held: GrowArray[np.int64] = GrowArray(np.int64, (4,))
        self.triple: GrowArray[np.int32] = GrowArray(np.int32, (3,))
        self.kinds, self.sessions, self.speakers, self.phrases = NameCodes(), NameCodes(), NameCodes(), NameCodes()
        self._row_of: GrowArray[np.int32] = GrowArray(np.int32)
        self._last: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.seq)

    def append(self, batch: RowBatch) -> set[tuple[int, int]]:
        """Add a batch of rows. Return the chains (kind and session) that lost a row because of it.

        The new rows have no neighbours until :meth:`link` is called.
        """
        first = len(self)
        count = len(batch.seqs)
        new = np.arange(first, first + count, dtype=np.int32)
        dated = np.zeros(count, dtype=np.bool_)
        dated[batch.spans[:, 0]] = True
        unlinked = np.full(count, -1, dtype=np.int32)
        self.seq.append(batch.seqs)
        self.kind.append(self.kinds.encode(batch.kinds))
        self.session.append(self.sessions.encode(batch.sessions))
        self.speaker.append(self.speakers.encode(batch.speakers))
        self.order.append(batch.orders)
        self.mentioned.append(batch.mentioned)
        self.recorded.append(batch.recorded)
        self.superseded.append(batch.superseded)
        self.asks.append(batch.asks)
        self.answered.append(batch.answered)
        self.dated.append(dated)
        self.length.append(batch.lengths)
        self.alive.append(np.ones(count, dtype=np.bool_))
        self.current.append(batch.superseded == FOREVER)
        self.previous.append(unlinked)
        self.following.append(unlinked)
        self.held.append(batch.validity)
        self.triple.append(np.full((count, 3), -1, dtype=np.int32))
        self.triple.view[first + batch.triple_rows] = self.phrases.encode(batch.phrases).reshape(-1, 3)
        replaced = self._retire_rows(batch.seqs)
        self._row_of.view[batch.seqs] = new
        return replaced

    def link(self, first: int, replaced: set[tuple[int, int]]) -> Rows:
        """Link the rows from ``first`` on to their neighbours.

        Return these rows and all others whose neighbours changed. ``replaced`` are the chains in which the new rows
        replaced older ones.
        """
        new = np.arange(first, len(self), dtype=np.int32)
        new = new[self.alive.view[first:]]
        touched = np.zeros(len(self), dtype=np.bool_)
        touched[first:] = touched[self._link_neighbours(new, replaced)] = True
        return np.flatnonzero(touched).astype(np.int32)

    def rows_of(self, seqs: NDArray[np.int64]) -> Rows:
        """Return the live rows of items in the order of ``seqs``, with -1 for an unknown item."""
        known = seqs < len(self._row_of)
        return np.where(known, self._row_of.view[np.where(known, seqs, 0)], -1) if len(self) else np.full(len(seqs), -1)

    def neighbours_of(self, rows: Rows, reach: int) -> NDArray[np.int32]:
        """Return each row with its neighbours, oldest first: shape ``(len(rows), 2 * reach + 1)``.

        -1 stands for a missing neighbour.
        """
        grid = np.full((len(rows), 2 * reach + 1), -1, dtype=np.int32)
        grid[:, reach] = rows
        for step, pointer in ((-1, self.previous.view), (1, self.following.view)):
            at = rows
            for distance in range(1, reach + 1):
                at = np.where(at >= 0, pointer[at], -1)
                grid[:, reach + step * distance] = at
        return grid

    def _retire_rows(self, seqs: NDArray[np.int64]) -> set[tuple[int, int]]:
        """Mark the rows that the new ones replace as no longer alive. Return the chains that lose a row."""
        missing = int(seqs.max()) + 1 - len(self._row_of)
        if missing > 0:
            self._row_of.append(np.full(missing, -1, dtype=np.int32))
        rows = self._row_of.view[seqs]
        replaced = rows[rows >= 0]
        self.alive.view[replaced] = self.current.view[replaced] = False
        chains = zip(self.kind.view[replaced].tolist(), self.session.view[replaced].tolist(), strict=True)
        return set(chains)

    def _link_neighbours(self, new: Rows, replaced: set[tuple[int, int]]) -> Rows:
        """Link new rows to their neighbours. Return all rows that were linked.

        A chain that does not simply grow at its end is sorted again.
        """
        kinds, sessions, orders = self.kind.view, self.session.view, self.order.view
        by_chain: dict[tuple[int, int], list[int]] = {}
        for row, kind, session in zip(new.tolist(), kinds[new].tolist(), sessions[new].tolist(), strict=True):
            by_chain.setdefault((kind, session), []).append(row)
        touched = [np.empty(0, dtype=np.int32)]
        for chain in replaced | by_chain.keys():
            rows = np.array(by_chain.get(chain, []), dtype=np.int32)
            rows = rows[np.argsort(orders[rows], kind="stable")]
            last = self._last.get(chain)
            if chain in replaced or (last is not None and orders[rows[0]] < orders[last]):
                mine = (kinds == chain[0]) & (sessions == chain[1]) & self.alive.view
                rows = np.flatnonzero(mine).astype(np.int32)
                rows = rows[np.argsort(orders[rows], kind="stable")]
                self.previous.view[rows[:1]] = -1
                self.following.view[rows[-1:]] = -1
            elif last is not None:
                rows = np.concatenate([np.array([last], dtype=np.int32), rows])
            touched.append(self._join_rows(rows))
            if len(rows):
                self._last[chain] = int(rows[-1])
        return np.concatenate(touched)

    def _join_rows(self, rows: Rows) -> Rows:
        self.following.view[rows[:-1]] = rows[1:]
        self.previous.view[rows[1:]] = rows[:-1]
        return rows
