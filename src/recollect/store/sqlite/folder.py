"""A folder of banks: one file each, so that a bank is copied, moved and erased as a file."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from recollect.errors import BadBankName, BankNotFound, NotABank, StoreUnavailable
from recollect.store.index.index import GRAPH_FROM_ROWS
from recollect.store.sqlite.database import Database, record_embedder, recorded_embedder
from recollect.store.sqlite.states import erase_states
from recollect.store.sqlite.store import SqliteStore

MEMORY = ":memory:"
SUFFIX = ".bank"

_NAME = re.compile(r"\w(?:[\w .@+-]{0,98}[\w@+-])?")
_MOST_BYTES = 240  # a file's name has at most 255, endings included
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


class SqliteFolder:
    """Opens, lists and drops the banks of a folder; ``":memory:"`` keeps them in this process alone.

    Raises:
        StoreUnavailable: the folder cannot be made or read.
    """

    def __init__(self, folder: str | Path, *, graph_from: int = GRAPH_FROM_ROWS) -> None:
        self._folder = None if str(folder) == MEMORY else Path(folder)
        self._graph_from = graph_from
        self._open: dict[str, SqliteStore] = {}
        if self._folder is not None:
            _make(self._folder)

    def names(self) -> tuple[str, ...]:
        """The banks there are, sorted."""
        if self._folder is None:
            return tuple(sorted(self._open))
        return tuple(sorted(path.name.removesuffix(SUFFIX) for path in self._folder.glob(f"*{SUFFIX}")))

    def open(self, name: str, *, embedder: str, dimension: int, create: bool = True) -> SqliteStore:
        """Open a bank; the same name gives the same object until it is closed. A new one records the embedder given.

        What a process that was killed has left of what it forgot is cleaned up first.

        Raises:
            BadBankName: the name cannot be a file's.
            BankNotFound: there is none, and ``create`` is false.
            StoreUnavailable, NotABank, NewerSchema: see :class:`Database`.
        """
        name = checked_name(name)
        store = self._open.get(name)
        if store is None:
            self._require(name, create)
            database = Database(self._path(name))
            try:
                recorded = _claim_embedder(database, embedder, dimension)
                store = SqliteStore(
                    database, name=name, embedder=recorded[0], dimension=recorded[1], graph_from=self._graph_from
                )
                store.finish_forgetting()
            except BaseException:
                database.close()
                raise
            self._open[name] = store
        return store

    async def drop(self, name: str) -> None:
        """Erase a bank with all its files.

        Raises:
            BankNotFound: there is none.
            StoreUnavailable: what was derived from it could not be removed; the bank is still there.
        """
        name = checked_name(name)
        self._require(name, create=False)
        store = self._open.pop(name, None)
        if store is not None:
            await store.close()
        if self._folder is not None:
            if left := erase_states(self._folder / (name + SUFFIX), remain=False):
                raise StoreUnavailable(f"the bank {name!r} cannot be erased: {left[0]} cannot be removed")
            for file in self._folder.glob("*"):
                if file.name in _file_names(name):
                    file.unlink(missing_ok=True)

    async def close(self) -> None:
        stores, self._open = list(self._open.values()), {}
        for store in stores:
            await store.close()

    def _require(self, name: str, create: bool) -> None:
        if not create and name not in self.names():
            where = self._folder or "memory"
            there = ", ".join(self.names()) or "none"
            raise BankNotFound(f"no bank {name!r} in {where}; there are: {there}")

    def _path(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / (name + SUFFIX)


def checked_name(name: str) -> str:
    """The name, normalised (NFC), if it can be a file's on any system and cannot leave its folder.

    Raises:
        BadBankName: says what is allowed.
    """
    name = unicodedata.normalize("NFC", name)
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name) or ".." in name or len(name.encode()) > _MOST_BYTES:
        raise BadBankName(
            f"{name!r} cannot be a bank's name: use 1 to 100 letters, digits, blanks and . _ @ + - (at most "
            f"{_MOST_BYTES} bytes in UTF-8), beginning with a letter or digit, not ending with a dot or blank"
        )
    return name


def _file_names(name: str) -> set[str]:
    return {name + SUFFIX, name + SUFFIX + "-wal", name + SUFFIX + "-shm", name + ".hnsw", name + ".hnsw.json"}


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as exc:
        raise NotABank(f"{folder} is a file, but a store is a folder of banks") from exc
    except OSError as exc:
        raise StoreUnavailable(f"the folder {folder} cannot be made ({exc.strerror})") from exc


def _claim_embedder(database: Database, embedder: str, dimension: int) -> tuple[str, int]:
    """The embedder that the bank records; a new bank records the one given."""
    with database.reading() as connection:
        recorded = recorded_embedder(connection)
    if recorded is None:
        with database.writing() as connection:
            recorded = recorded_embedder(connection)  # another process may have been faster
            if recorded is None:
                recorded = embedder, dimension
                record_embedder(connection, embedder, dimension)
    return recorded
