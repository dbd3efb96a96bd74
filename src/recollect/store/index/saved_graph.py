"""The graph of a large bank in a file, next to a note that describes from which state of the bank it was made."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recollect.store.index.bank_index import BankIndex
from recollect.store.index.feed import FeedSnapshot

_UNFINISHED = re.compile(r".+\.hnsw\.([0-9]+)")


@dataclass(frozen=True, slots=True)
class SavedGraph:
    """The file of a graph. The file is not used if it does not fit the bank."""

    path: Path

    @property
    def _note_path(self) -> Path:
        return self.path.with_suffix(self.path.suffix + ".json")

    def save(self, index: BankIndex, version: int, epoch: int) -> None:
        """Write the graph, and then the note that makes it valid."""
        self._note_path.unlink(missing_ok=True)
        remove_abandoned_graphs(self.path.parent)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            points = index.save_graph(fresh).astype("<i8").tobytes()
            fresh.replace(self.path)
        finally:
            fresh.unlink(missing_ok=True)
        note = {
            "epoch": epoch,
            "version": version,
            "points": base64.b64encode(points).decode("ascii"),
            "digest": _digest(self.path, points),
        }
        self._note_path.write_text(json.dumps(note), "utf-8")

    def remove(self) -> None:
        """Remove the graph, its note, and what any process is writing now. That process then saves no graph."""
        unfinished = [file for file, _ in _list_unfinished(self.path.parent) if file.stem == self.path.name]
        for file in (self._note_path, self.path, *unfinished):
            file.unlink(missing_ok=True)

    def load(self, index: BankIndex, snapshot: FeedSnapshot) -> int:
        """Read the graph into an index without rows.

        Return the version from which it was made, or 0 if it is not usable. The caller then adds the rows up to that
        version. The index adds later rows to the graph.
        """
        if not self.path.exists():
            return 0
        try:
            note = json.loads(self._note_path.read_text("utf-8"))
            epoch, version, points = int(note["epoch"]), int(note["version"]), base64.b64decode(note["points"])
            whole = note["digest"] == _digest(self.path, points)
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        # Reading a damaged graph raises no error: it ends the process.
        if not whole or epoch != snapshot.epoch:
            return 0
        fits = index.load_graph(self.path, np.frombuffer(points, dtype="<i8"), snapshot.numbers(version))
        return version if fits else 0


def remove_abandoned_graphs(folder: Path) -> None:
    """Remove the graphs that processes were writing in a folder when they were killed."""
    for file, process in _list_unfinished(folder):
        if not _is_alive(process):
            file.unlink(missing_ok=True)


def _list_unfinished(folder: Path) -> list[tuple[Path, int]]:
    """Return the files of graphs that are not complete, and the processes that write them."""
    matches = [_UNFINISHED.fullmatch(name) for name in os.listdir(folder)]
    return [(folder / match[0], int(match[1])) for match in matches if match is not None]


def _is_alive(process: int) -> bool:
    """Return true if the process may still run. A process in another container seems to be dead."""
    if os.name != "posix":  # elsewhere, this question would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _digest(graph: Path, points: bytes) -> str:
    """Return a checksum of a saved graph and of the items that its points represent."""
    with graph.open("rb") as opened:
        digest = hashlib.file_digest(opened, "blake2b")
    digest.update(points)
    return digest.hexdigest()
