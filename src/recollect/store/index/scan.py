"""Search the index for one question: the hits of the arms, and the signals of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recollect.domain.queries import SearchProbe
from recollect.domain.signals import Signals, Weights
from recollect.domain.time import Interval, to_micros
from recollect.domain.triples import TimeFilter
from recollect.store.index.bank_index import BankIndex
from recollect.store.index.lexical import LexicalScan
from recollect.store.index.row_batch import FOREVER
from recollect.store.index.row_table import Rows
from recollect.store.index.validity import match_filter
from recollect.store.index.vectors import compute_cosines, select_top

Floats = NDArray[np.float32]

_GRAPH_OVERSAMPLE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScope:
    """A scope in the terms of the index. ``hidden`` are numbers of items that must not be returned."""

    kinds: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    during: Interval | None = None
    recorded_by: int | None = None
    hidden: frozenset[int] = frozenset()
    when: TimeFilter | None = None

    @property
    def is_everything(self) -> bool:
        return self == RowScope()


RankedRows = tuple[Rows, Floats]
"""Rows, best first, and their scores."""


class IndexSearch:
    """Scans the index for one probe. The arms and tiers share the scans. It is not safe for threads.

    Args:
        index: the bank in memory.
        probe: the question.
        scope: the rows that may be returned.
        weights: the weights of the signals.
        tiers: sets of kinds, each of which is ranked separately. The kinds of the scope are then ignored. Without
            tiers, everything in scope is one tier.
    """

    def __init__(
        self,
        index: BankIndex,
        probe: SearchProbe,
        scope: RowScope,
        weights: Weights,
        tiers: Sequence[tuple[str, ...]] = (),
    ) -> None:
        if tiers:
            scope = replace(scope, kinds=tuple(kind for kinds in tiers for kind in kinds))
        self._index, self._probe, self._scope, self._weights = index, probe, scope, weights
        self._tiers = tuple(tiers)
        self._masks: list[NDArray[np.bool_]] | None = None
        self._speakers = index.table.speakers.find(probe.speakers)
        self._open: NDArray[np.bool_] | None = None
        self._scan: LexicalScan | None = None
        self._cosines_of_all: tuple[Floats, Floats | None] | None = None
        self._nearest: tuple[int, list[RankedRows]] | None = None
        self._proximity: Floats | None = None
        self._rows_seen = -1
        self._rescan_if_changed()

    @property
    def has_tiers(self) -> bool:
        return bool(self._tiers)

    def semantic(self, k: int) -> list[RankedRows]:
        """Return, for each tier, the ``k`` rows nearest in meaning, by the row and its surroundings.

        If the question has no vector, no row is returned.
        """
        self._rescan_if_changed()
        if not self._probe.has_vector:
            return [(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)) for _ in self._tiers or ((),)]
        if self._index.vectors.approximate and self._open is None:
            rows = self._index.vectors.approximate_nearest(self._probe.vector, _GRAPH_OVERSAMPLE * k)
            rows = rows[self._index.table.current.view[rows]]
            scores = self._combine_meaning(*self._compute_cosines(rows))
            best = select_top(scores, k)
            return [(rows[best], scores[best])]
        if self._cosines_of_all is None:
            self.set_cosines(compute_cosines(self._index.vectors.matrix, self._probe.vector))
        assert self._cosines_of_all is not None
        if self._nearest is None or self._nearest[0] < k:  # kept, because the graph arm starts from the first of them
            own, near = self._cosines_of_all
            self._nearest = k, self._select_best(own if near is None else self._combine_meaning(own, near), k)
        return [(rows[:k], scores[:k]) for rows, scores in self._nearest[1]]

    def vectors_to_compare(self) -> Floats | None:
        """Return the vectors that :meth:`semantic` would compare with the question, as a view.

        Return ``None`` if nothing is left to compare. The comparison takes longest and changes nothing. So the owner of
        the lock can release it, compare, and pass the cosines to :meth:`set_cosines`.
        """
        self._rescan_if_changed()
        if not self._probe.has_vector or self._cosines_of_all is not None:
            return None
        through_graph = self._index.vectors.approximate and self._open is None
        return None if through_graph else self._index.vectors.matrix

    def set_cosines(self, own: Floats) -> None:
        """Take the cosine of every row. They are ignored if the index has got more rows since."""
        if len(own) == len(self._index):
            near = self._index.surroundings.all_cosines(self._index.table, own) if self._weights.surroundings else None
            self._cosines_of_all = own, near

    def lexical(self, k: int) -> list[RankedRows]:
        """Return, for each tier, the ``k`` rows that share the most words with the question.

        A row's words are those of its exchange, its passage and its session.
        """
        self._rescan_if_changed()
        scan, w = self._scan_lexical(), self._weights
        scale = w.exchange + w.passage + w.session or 1.0
        scores = (w.exchange * scan.exchange + w.passage * scan.passage + w.session * scan.session) / scale
        return [(rows[found > 0], found[found > 0]) for rows, found in self._select_best(scores, k)]

    def temporal(self, k: int) -> list[RankedRows]:
        """Return, for each tier, the ``k`` rows nearest to the middle of the time in the question.

        Only rows that overlap this time are returned (equations 13, 14).
        """
        self._rescan_if_changed()
        near = self._scan_time()
        if near is None:
            return [(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)) for _ in self._tiers or (None,)]
        return [(rows[found > 0], found[found > 0]) for rows, found in self._select_best(near, k)]

    def signals(self, rows: Rows, *, phrases: Rows, graph: Floats) -> Signals:
        """Return every signal of the candidates.

        ``phrases`` are the rows that contain a quoted phrase. ``graph`` are the activations of the candidates.
        """
        self._rescan_if_changed()
        table, probe, scan = self._index.table, self._probe, self._scan_lexical()
        own, near = self._compute_cosines(rows)
        when = np.float32(probe.asks_when)
        timely = _score_timeliness(self._scan_time(), rows)
        return Signals(
            exchange=scan.exchange[rows],
            passage=scan.passage[rows],
            session=scan.session[rows],
            phrase=_flag_members(rows, phrases),
            meaning=own,
            surroundings=near,
            speaker=_flag_members(table.speaker.view[rows], self._speakers),
            dated=table.dated.view[rows] * when,
            asks=table.asks.view[rows].astype(np.float32),
            temporal=timely,
            graph=graph,
        )

    def tiers_of(self, rows: Rows) -> NDArray[np.int8]:
        """Return the position of each row's tier, or -1 for a row that is out of scope."""
        self._rescan_if_changed()
        places = np.full(len(rows), -1, dtype=np.int8)
        for place, mask in enumerate(self._by_tier()):
            places[mask[rows]] = place
        return places

    def mask_within_time(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows overlap the time in the question. If the question has no time, return true for all rows."""
        self._rescan_if_changed()
        near = self._scan_time()
        return np.ones(len(rows), dtype=np.bool_) if near is None else near[rows] > 0

    def _mask_visible(self) -> NDArray[np.bool_]:
        """Return which rows are in scope: bool of shape ``(rows,)``."""
        return self._index.table.current.view if self._open is None else self._open

    def _by_tier(self) -> list[NDArray[np.bool_]]:
        """Return, for each tier, which rows may be returned: bool of shape ``(rows,)``."""
        if self._masks is None:
            visible, table = self._mask_visible(), self._index.table
            codes = [table.kinds.find(kinds) for kinds in self._tiers]
            self._masks = [visible & np.isin(table.kind.view, some) for some in codes] if codes else [visible]
        return self._masks

    def _rescan_if_changed(self) -> None:
        """Discard the scans if rows were added to the index since.

        Others write to it while a question is being answered.
        """
        if len(self._index) == self._rows_seen:
            return
        self._rows_seen = len(self._index)
        self._open = None if self._scope.is_everything else mask_allowed(self._index, self._scope)
        self._scan = self._cosines_of_all = self._nearest = self._proximity = self._masks = None

    def _combine_meaning(self, own: Floats, near: Floats) -> Floats:
        w = self._weights
        share = np.float32(w.meaning / ((w.meaning + w.surroundings) or 1.0))
        return share * own + (1 - share) * near

    def _scan_lexical(self) -> LexicalScan:
        if self._scan is None:
            self._scan = LexicalScan(self._index.table, self._index.postings, self._index.lengths, self._probe.terms)
        return self._scan

    def _scan_time(self) -> Floats | None:
        """Return how near every row is to the time in the question, or ``None`` if the question has no time."""
        if self._proximity is None and self._probe.during is not None:
            self._proximity = compute_proximity(self._index, self._probe.during)
        return self._proximity

    def _compute_cosines(self, rows: Rows) -> tuple[Floats, Floats]:
        own, near = self._cosines_of_all or (None, None)
        if own is not None and near is not None:
            return own[rows], near[rows]
        index = self._index
        return index.surroundings.cosines(index.table, rows, index.vectors.matrix, self._probe.vector)

    def _select_best(self, scores: Floats, k: int) -> list[RankedRows]:
        return [select_best(scores, mask, k) for mask in self._by_tier()]


def select_best(scores: Floats, mask: NDArray[np.bool_], k: int) -> RankedRows:
    """Return the ``k`` best of the rows that a mask allows."""
    closed = ~mask
    if closed.any():
        scores = np.where(closed, np.float32(-np.inf), scores)
    best = select_top(scores, k)
    best = best[np.isfinite(scores[best])]
    return best.astype(np.int32), scores[best]


def _flag_members(values: NDArray[np.int32], some: Sequence[int] | Rows) -> Floats:
    """Return 1 for each value that is in ``some``, and 0 for the others."""
    return np.isin(values, some).astype(np.float32) if len(some) else np.zeros(len(values), dtype=np.float32)


def _score_timeliness(proximities: Floats | None, rows: Rows) -> Floats:
    """Return how well rows fit a time: one half for overlapping it, and up to one half for being near its middle."""
    if proximities is None:
        return np.zeros(len(rows), dtype=np.float32)
    near = proximities[rows]
    return np.where(near > 0, (1 + near) / 2, 0).astype(np.float32)


def mask_allowed(index: BankIndex, scope: RowScope) -> NDArray[np.bool_]:
    """Return which rows are in scope: bool of shape ``(rows,)``.

    Without a moment in the scope, only valid rows are in scope. With one, the rows that were recorded and not
    superseded by then are in scope.
    """
    table = index.table
    if scope.recorded_by is None:
        mask = table.current.view.copy()
    else:
        mask = (table.recorded.view <= scope.recorded_by) & (table.superseded.view > scope.recorded_by)
        mask &= table.alive.view
    for wanted, codes, column in (
        (scope.kinds, table.kinds, table.kind.view),
        (scope.sessions, table.sessions, table.session.view),
        (scope.speakers, table.speakers, table.speaker.view),
    ):
        if wanted:
            mask &= np.isin(column, codes.find(wanted))
    if scope.during is not None:
        mask &= compute_proximity(index, scope.during) > 0
    if scope.when is not None:
        mask &= match_filter(table.held.view, scope.when)
    if scope.hidden:
        rows = table.rows_of(np.array(sorted(scope.hidden), dtype=np.int64))
        mask[rows[rows >= 0]] = False
    return mask


def compute_proximity(index: BankIndex, during: Interval) -> Floats:
    """Return how near each row is to the middle of a time: 1 at the middle, towards 0 at its ends, 0 outside.

    A row counts at the times that its words speak of and at the moment when it was said, whichever is nearer
    (Hindsight, equations 13 and 14). An event that reaches beyond the range counts a little, never 0.
    """
    start = -FOREVER if during.start is None else to_micros(during.start)
    end = FOREVER if during.end is None else to_micros(during.end)
    said = index.table.mentioned.view
    scores = _compute_closeness(said, said + 1, start, end)
    spans = index.spans.view
    if len(spans):
        np.maximum.at(scores, index.span_rows.view, _compute_closeness(spans[:, 0], spans[:, 1], start, end))
    return scores


def _compute_closeness(starts: NDArray[np.int64], ends: NDArray[np.int64], start: int, end: int) -> Floats:
    overlap = (starts < end) & (ends > start)
    if start == -FOREVER or end == FOREVER:
        return overlap.astype(np.float32)
    middles = np.maximum(starts, start) / 2 + np.minimum(ends, end) / 2
    half = max((end - start) / 2, 1.0)
    near = 1 - np.abs(middles - (start / 2 + end / 2)) / half
    return np.where(overlap, np.maximum(near, 0.01), 0.0).astype(np.float32)
