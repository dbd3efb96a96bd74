"""The index of a bank, brought up to date before each use, whoever writes to the bank."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from recollect.store.index.bank_index import BankIndex
from recollect.store.index.feed import FeedSnapshot, RowFeed
from recollect.store.index.saved_graph import SavedGraph

_log = logging.getLogger(__name__)


class LiveIndex:
    """Reads what is new in the feed before each use, so that the index is right when another process writes.

    Args:
        feed: gives the rows.
        dimension: of the vectors.
        graph: the file in which the graph is kept from ``graph_from`` rows on; ``None`` for none.
        graph_from: rows from which unmasked vector searches go through a graph; -1 for never.
    """

    def __init__(self, feed: RowFeed, dimension: int, graph: SavedGraph | None, graph_from: int) -> None:
        self._feed, self._dimension = feed, dimension
        self._graph, self._graph_from = graph, graph_from
        self._lock = threading.RLock()
        self._index = BankIndex(dimension, graph_from)
        self._version, self._epoch = 0, -1
        self._warned = False

    def __len__(self) -> int:
        return len(self._index)

    @contextmanager
    def locked_index(self) -> Iterator[BankIndex]:
        """Hold the lock and give the index, up to date with the feed. It may take long: call it in a thread."""
        with self._lock:
            self._catch_up()
            yield self._index

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, for a caller who got the index from :meth:`locked_index` before."""
        with self._lock:
            yield

    @contextmanager
    def try_locked(self) -> Iterator[bool]:
        """Hold the lock if nobody else does, without waiting; give whether it is held."""
        taken = self._lock.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self._lock.release()

    def save_graph(self) -> None:
        """Keep the graph in its file, if the bank is large enough to have one.

        The graph is derived: where it cannot be kept, it is made anew the next time. A graph that holds what another
        process has forgotten since is not kept.
        """
        with self._lock, suppress(Exception):
            if self._graph is None or not self._index.vectors.approximate or self._is_outdated():
                return
            self._graph.save(self._index, self._version, self._epoch)

    def _is_outdated(self) -> bool:
        with self._feed.snapshot() as snapshot:
            return snapshot.epoch != self._epoch

    def _catch_up(self) -> None:
        with self._feed.snapshot() as snapshot:
            version = snapshot.version
            if (version, snapshot.epoch) == (self._version, self._epoch):
                return
            if snapshot.epoch != self._epoch or self._index.is_wasteful:
                self._begin_anew(snapshot)
            try:
                self._extend(snapshot, self._version, version)
            except BaseException:  # some of the rows are in the index and not linked: the next use begins anew
                self._epoch = -1
                raise
            self._version = version
            self._warn_once()

    def _begin_anew(self, snapshot: FeedSnapshot) -> None:
        self._index, self._version, self._epoch = BankIndex(self._dimension, self._graph_from), 0, snapshot.epoch
        saved = 0 if self._graph is None else self._graph.load(self._index, snapshot)
        if saved:  # what has been written since is added to the graph, and so comes after what the graph holds
            self._extend(snapshot, 0, saved)
            self._version = saved

    def _extend(self, snapshot: FeedSnapshot, since: int, upto: int) -> None:
        self._index.reserve(snapshot.count(since, upto))
        self._index.extend(snapshot.batches(since, upto))

    def _warn_once(self) -> None:
        """Log that the bank has outgrown exact search, the first time that it has."""
        note = self._index.vectors.note
        if note and not self._warned:
            self._warned = True
            _log.warning(note)
