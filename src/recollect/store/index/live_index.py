"""Keep the index of a bank up to date: read the new rows before each use, whichever process wrote them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from recollect.domain.processes import HomeProcess
from recollect.store.index.bank_index import BankIndex
from recollect.store.index.feed import FeedSnapshot, RowFeed
from recollect.store.index.saved_graph import SavedGraph

_log = logging.getLogger(__name__)


class LiveIndex:
    """The index of a bank.

    It reads the new rows of the feed before each use, so that it is right if another process writes.

    Args:
        feed: the source of the rows.
        dimension: the length of the vectors.
        graph: the file in which the graph is stored from ``graph_from`` rows on, or ``None`` for no file.
        graph_from: the number of rows from which unmasked vector searches go through a graph. -1 means never.
    """

    def __init__(self, feed: RowFeed, dimension: int, graph: SavedGraph | None, graph_from: int) -> None:
        self._feed, self._dimension = feed, dimension
        self._graph, self._graph_from = graph, graph_from
        self._home = HomeProcess()  # a forked process would wait for ever for the lock of a thread that it lacks
        self._lock = threading.RLock()
        self._index = BankIndex(dimension, graph_from)
        self._version, self._epoch = 0, -1
        self._warned = False

    def __len__(self) -> int:
        return len(self._index)

    @contextmanager
    def locked_index(self) -> Iterator[BankIndex]:
        """Hold the lock and yield the index, up to date with the feed. This may take long, so call it in a thread."""
        self._home.require()
        with self._lock:
            self._catch_up()
            yield self._index

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, for a caller that got the index from :meth:`fresh` before."""
        self._home.require()
        with self._lock:
            yield

    @contextmanager
    def try_locked(self) -> Iterator[bool]:
        """Hold the lock if no other thread holds it, without waiting. Yield true if it is held."""
        taken = self._lock.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self._lock.release()

    def save_graph(self) -> None:
        """Write the graph to its file, if the bank is large enough to have one.

        The graph is derived. If it cannot be saved, it is built again the next time. A graph is not saved if it
        contains items that another process has forgotten since.
        """
        with self._lock:
            self._save_graph()

    def save_graph_if_idle(self) -> bool:
        """Write the graph like :meth:`save_graph`, unless another thread uses the index. Return true if none does.

        This never waits. A thread that closes other banks may hold the lock of its own index, so two such threads
        would wait for each other for ever.
        """
        with self.try_locked() as taken:
            if taken:
                self._save_graph()
            return taken

    def _save_graph(self) -> None:
        with suppress(Exception):
            if self._graph is None or not self._index.vectors.approximate or self._is_outdated():
                return
            self._graph.save(self._index, self._version, self._epoch)
            if self._is_outdated():  # something was forgotten while the graph was written
                self._graph.remove()

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
            except BaseException:  # some rows are in the index but not linked: the next use builds it again
                self._epoch = -1
                raise
            self._version = version
            self._warn_once()

    def _begin_anew(self, snapshot: FeedSnapshot) -> None:
        self._index, self._version, self._epoch = BankIndex(self._dimension, self._graph_from), 0, snapshot.epoch
        saved = 0 if self._graph is None else self._graph.load(self._index, snapshot)
        if saved:  # later rows are added to the graph, so they must come after the rows that are in it
            self._extend(snapshot, 0, saved)
            self._version = saved

    def _extend(self, snapshot: FeedSnapshot, since: int, upto: int) -> None:
        self._index.reserve(snapshot.count(since, upto))
        self._index.extend(snapshot.batches(since, upto))

    def _warn_once(self) -> None:
        """Log, only once, that the bank has become too large for exact search."""
        note = self._index.vectors.note
        if note and not self._warned:
            self._warned = True
            _log.warning(note)
