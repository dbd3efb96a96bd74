"""The index of a bank, kept in step with its file, whoever writes to it."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from recollect.domain.held import OPEN
from recollect.store.index.index import BankIndex
from recollect.store.sqlite.columns import batch_from
from recollect.store.sqlite.commit import require_embedder
from recollect.store.sqlite.database import Database, read_state
from recollect.store.sqlite.sql import query

_log = logging.getLogger(__name__)


class LiveIndex:
    """Reads what is new in the file before each use, so that it is right when another process writes.

    Past the graph's threshold the graph is kept beside the bank in ``graph_path`` with a note of what it holds; a file
    that does not fit the bank is not used.
    """

    def __init__(self, database: Database, embedder: tuple[str, int], graph_path: Path | None, graph_from: int) -> None:
        self._database = database
        self._embedder = embedder
        self._dimension = embedder[1]
        self._graph_path = graph_path
        self._graph_from = graph_from
        self._lock = threading.RLock()
        self._index = BankIndex(self._dimension, graph_from)
        self._version, self._epoch = 0, -1
        self._warned = False

    @contextmanager
    def fresh(self) -> Iterator[BankIndex]:
        """The index, in step with the file, while the lock is held."""
        with self._lock:
            self._catch_up()
            yield self._index

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock, for one who got the index from :meth:`fresh` before."""
        with self._lock:
            yield

    def save(self) -> None:
        """Keep the graph in its file, if the bank is large enough to have one.

        It is derived: where it cannot be kept, it is made anew the next time. One that holds what another process has
        forgotten since is not kept.
        """
        with self._lock, suppress(Exception):
            if self._graph_path is None or not self._index.vectors.approximate or self._outdated():
                return
            self._note_path.unlink(missing_ok=True)
            fresh = self._graph_path.with_name(f"{self._graph_path.name}.{os.getpid()}")
            try:
                points = self._index.save_graph(fresh).astype("<i8").tobytes()
                fresh.replace(self._graph_path)
            finally:
                fresh.unlink(missing_ok=True)
            note = {
                "epoch": self._epoch,
                "version": self._version,
                "points": base64.b64encode(points).decode("ascii"),
                "digest": _digest(self._graph_path, points),
            }
            self._note_path.write_text(json.dumps(note), "utf-8")

    @property
    def _note_path(self) -> Path:
        assert self._graph_path is not None
        return self._graph_path.with_suffix(self._graph_path.suffix + ".json")

    def _outdated(self) -> bool:
        with self._database.reading() as connection:
            return read_state(connection)[1] != self._epoch

    def _catch_up(self) -> None:
        with self._database.reading() as connection:
            version, epoch = read_state(connection)
            if (version, epoch) == (self._version, self._epoch):
                return
            if epoch != self._epoch or self._index.wasted:
                require_embedder(connection, *self._embedder)
                self._index, self._version = BankIndex(self._dimension, self._graph_from), 0
                self._epoch = epoch
                self._load_saved(connection)
            self._append(connection, self._version, version)
            self._version = version
            self._warn_once()

    def _warn_once(self) -> None:
        """Log that the bank has outgrown exact search, the first time that it has."""
        note = self._index.vectors.note
        if note and not self._warned:
            self._warned = True
            _log.warning(note)

    def _append(self, connection: sqlite3.Connection, since: int, upto: int) -> None:
        bounds = {"version": since, "upto": upto, "open": OPEN}
        rows = connection.execute(query("rows_since"), bounds).fetchall()
        if rows:
            spans = connection.execute(query("spans_since"), bounds).fetchall()
            triples = connection.execute(query("triples_since"), bounds).fetchall()
            self._index.append(batch_from(rows, spans, triples, self._dimension))

    def _load_saved(self, connection: sqlite3.Connection) -> None:
        """Take the saved graph, when it was made from this very file; what has been rewritten since is put in anew."""
        if self._graph_path is None or not self._graph_path.exists():
            return
        try:
            note = json.loads(self._note_path.read_text("utf-8"))
            saved_epoch, version, points = int(note["epoch"]), int(note["version"]), base64.b64decode(note["points"])
            whole = note["digest"] == _digest(self._graph_path, points)
        except (OSError, ValueError, KeyError, TypeError):
            return
        if not whole:  # reading a damaged graph would not fail, but take the process down
            return
        if saved_epoch != self._epoch:
            return
        items = np.array([seq for (seq,) in connection.execute(query("items_upto"), {"upto": version})], dtype=np.int64)
        if self._index.load_graph(self._graph_path, np.frombuffer(points, dtype="<i8"), items):
            self._append(connection, 0, version)
            self._version = version


def _digest(graph: Path, points: bytes) -> str:
    """Of a saved graph and what its points stand for."""
    with graph.open("rb") as opened:
        digest = hashlib.file_digest(opened, "blake2b")
    digest.update(points)
    return digest.hexdigest()
