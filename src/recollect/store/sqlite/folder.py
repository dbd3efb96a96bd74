"""A folder of banks, with one file for each bank. A bank that no program has open can be copied and moved as a file."""

from __future__ import annotations

import os
import threading
import unicodedata
from collections.abc import Collection
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from weakref import WeakValueDictionary

from recollect._threads import run_in_thread
from recollect.domain.receipts import BackupReceipt
from recollect.errors import (
    BankExists,
    BankNotFound,
    InvalidInput,
    MissingCapability,
    NotABank,
    StoreError,
    StoreUnavailable,
)
from recollect.store.index.bank_index import GRAPH_FROM_ROWS
from recollect.store.index.saved_graph import remove_abandoned_graphs
from recollect.store.names import checked_name, find_name, name_key
from recollect.store.protocol import Fill
from recollect.store.sqlite.backup import back_up, copy_backup, read_backup_name
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.erase import (
    erase_bank,
    finish_erasing,
    follow_link,
    has_unfinished,
    remove_derived,
)
from recollect.store.sqlite.files import (
    LOCK_FILE,
    check_integrity,
    file_errors,
    hold_lock,
    move_to_new_name,
)
from recollect.store.sqlite.peek import JobsPeek, JobTimes, due_banks
from recollect.store.sqlite.pool import OpenBanks
from recollect.store.sqlite.staging import StagingFolder, sweep_staging
from recollect.store.sqlite.store import SqliteStore, open_store, stage_store
from recollect.store.stores import OpenLimits

MEMORY = ":memory:"
SUFFIX = ".bank"

_MOST_LISTED = 20


class SqliteFolder:
    """Implements :class:`recollect.store.stores.Stores`. With ``":memory:"`` the banks exist only in this process.

    Args:
        folder: the folder of the banks. It is created if it does not exist.
        graph_from: the number of rows from which vector searches go through a graph.
        limits: the limits for banks that are open at the same time.

    Raises:
        StoreUnavailable: the folder cannot be created or read.
    """

    def __init__(
        self, folder: str | Path, *, graph_from: int = GRAPH_FROM_ROWS, limits: OpenLimits | None = None
    ) -> None:
        self._folder = None if str(folder) == MEMORY else Path(folder)
        self._graph_from = graph_from
        self._open_banks = OpenBanks(limits or OpenLimits())
        self._stores: WeakValueDictionary[str, SqliteStore] = (
            WeakValueDictionary()
        )  # also closed banks that are still referenced
        self._in_memory: dict[str, SqliteStore] = {}
        self._opening: WeakValueDictionary[str, _Opening] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._swept = False  # true once the unfinished banks of killed processes were looked for
        self._closings = 0  # shows if the folder was closed while a bank was being opened
        self._peek = JobsPeek()
        if self._folder is not None:
            _make_folder(self._folder)

    async def names(self) -> tuple[str, ...]:
        """Return the names of all banks, sorted."""
        return await run_in_thread(lambda: tuple(sorted(self._files())))

    async def open(self, name: str, *, embedder: str, dimension: int, create: bool = True) -> SqliteStore:
        """Open a bank, in a thread. The same name returns the same object as long as somebody has a reference to it.

        If a process was killed before it had cleaned the files of forgotten words, they are cleaned first.

        Raises:
            BadBankName: the name cannot be a file's name.
            BankNameTaken: a bank has this name in another spelling.
            BankNotFound: the bank does not exist, and ``create`` is false.
            StoreUnavailable, NotABank, NewerSchema: see :class:`Database`.
        """
        checked_name(name)
        return await run_in_thread(self._open_store, name, (embedder, dimension), create=create)

    async def create(self, name: str, *, embedder: str, dimension: int, fill: Fill) -> SqliteStore:
        """Create a bank with contents. It is made in a file beside, and gets its name in one step when it is complete.

        Raises:
            BadBankName, BankNameTaken: the bank cannot have this name.
            BankExists: there is a bank of this name, perhaps only since ``fill`` began. It is unchanged.
            StoreUnavailable: the bank cannot be stored.
        """
        name = checked_name(name)
        await run_in_thread(self._require_free, name)
        if self._folder is None:
            store = await run_in_thread(self._make_store, name, None, (embedder, dimension))
            await fill(store)
            self._require_free(name)
            self._keep(store, self._closings)
            return store
        async with stage_store(self._folder, name=name, embedder=(embedder, dimension)) as (staged, file):
            await fill(staged)
            await staged.close()
            await run_in_thread(check_integrity, file)
            await run_in_thread(self._give_name, name, file)
        return await self.open(name, embedder=embedder, dimension=dimension, create=False)

    async def backup(self, name: str, file: Path) -> BackupReceipt:
        """Copy a bank to a new file: see :class:`recollect.store.backups.BackupStores`."""
        return await run_in_thread(self._back_up, checked_name(name), file)

    async def restore(self, file: Path, name: str | None) -> str:
        """Make a new bank from a backup: see :class:`recollect.store.backups.BackupStores`."""
        if self._folder is None:
            raise MissingCapability("a store in memory restores no backups")
        name = name or await run_in_thread(read_backup_name, file)
        if not name:
            raise InvalidInput(f"{file} does not say the name of its bank; give one")
        name = checked_name(name)
        await run_in_thread(self._require_free, name)
        await run_in_thread(self._restore, file, name, self._folder)
        return name

    async def drop(self, name: str) -> None:
        """Erase a bank with all its files: see :func:`recollect.store.sqlite.erase.erase_bank`.

        Raises:
            BankNotFound: the bank does not exist.
            BankNameTaken: a bank has this name in another spelling.
            NotABank: the bank is a link to a file that is no bank. Nothing is erased.
            StoreUnavailable: something could not be removed. Unless it is the last rest, the bank still exists.
        """
        checked_name(name)
        name = await run_in_thread(self._own_spelling, name)
        file = await run_in_thread(self._find, name, create=False)
        with self._lock:
            store = self._stores.pop(name, None)
            self._in_memory.pop(name, None)
        if store is not None:
            await store.close()
            self._open_banks.forget(store)
        if file is not None:
            await run_in_thread(sweep_staging, file.parent)  # a killed import may have left a link to the file
            await run_in_thread(erase_bank, name, file)
            await run_in_thread(self._clean_up, file.parent)

    async def banks_with_jobs(
        self, *, until: datetime | None, kinds: Collection[str] = (), banks: Collection[str] | None = None
    ) -> tuple[str, ...]:
        """Return the banks of which a worker could claim a job by ``until``. The bank that is due longest comes first.

        This reads the files that have changed since the last look. It opens no bank.
        """

        return due_banks(await run_in_thread(self._job_times, banks), until, kinds)

    async def close(self) -> None:
        """Close every bank, including those to which somebody still has a reference."""
        with self._lock:
            self._closings += 1
            stores = list(self._stores.values())
            self._stores, self._in_memory = WeakValueDictionary(), {}
        for store in stores:
            await store.close()
            self._open_banks.forget(store)

    def _open_store(self, name: str, embedder: tuple[str, int], *, create: bool) -> SqliteStore:
        self._clean_up_once()
        with self._lock:  # one lock for all spellings of a name
            alone, closings = self._opening.setdefault(name_key(name), _Opening()), self._closings
        with alone.lock:  # a second caller gets the bank that the first one has opened
            name = self._own_spelling(name)
            store = self._stores.get(name)
            if store is not None and store.is_gone():
                store.give_back()
                store = None
            if store is None:
                store = self._make_store(name, self._find(name, create=create), embedder)
                self._keep(store, closings)
        self._open_banks.used(store)
        return store

    def _make_store(self, name: str, file: Path | None, embedder: tuple[str, int]) -> SqliteStore:
        database = Database(None if file is None else follow_link(file), create=file is None)
        store = open_store(database, name=name, embedder=embedder, graph_from=self._graph_from)
        database.on_use = lambda: self._open_banks.used(store)
        return store

    def _clean_up_once(self) -> None:
        """Remove what killed processes have left, once in the life of this process."""
        if self._folder is not None and not self._swept:
            with suppress(StoreUnavailable):  # a folder that cannot be written
                self._clean_up(self._folder)
        self._swept = True

    def _clean_up(self, folder: Path) -> None:
        """Remove the unfinished banks of killed processes, and the rests of banks that they erased.

        Raises:
            StoreUnavailable: the folder cannot be written.
        """
        sweep_staging(folder)
        with file_errors(folder):
            remove_abandoned_graphs(folder)
            if has_unfinished(folder):
                with hold_lock(folder / LOCK_FILE):
                    finish_erasing(folder)

    def _keep(self, store: SqliteStore, closings: int) -> None:
        """Remember a bank that was opened.

        Raises:
            StoreError: the folder was closed while the bank was being opened.
        """
        with self._lock:
            closed = self._closings != closings
            if not closed:
                self._stores[store.name] = store
                if self._folder is None:
                    self._in_memory[store.name] = store
        if closed:
            store.close_now()
            raise StoreError("the store was closed while a bank was being opened")

    def _require_free(self, name: str) -> None:
        """Raise an error if a bank has this name.

        Raises:
            BankExists: a bank has this name.
            BankNameTaken: a bank has this name in another spelling.
        """
        if find_name(name, self._files()) is not None:
            raise BankExists(f"there is a bank {name!r}, and it is not replaced. Choose another name, or drop the bank")

    def _back_up(self, name: str, file: Path) -> BackupReceipt:
        name = self._own_spelling(name)
        bank = self._find(name, create=False)
        if bank is None:
            with self._lock:
                store = self._in_memory[name]
            return store.back_up(file)
        with closing(Database(follow_link(bank), create=False)) as database:
            return back_up(database, name, file)

    def _restore(self, file: Path, name: str, folder: Path) -> None:
        with closing(StagingFolder(folder)) as staging:
            staged = staging.path / "bank"
            copy_backup(file, staged)
            Database(staged).close()  # runs the migrations of later versions
            self._give_name(name, staged)

    def _give_name(self, name: str, file: Path) -> None:
        """Make a complete file the bank of this name in one step.

        Raises:
            BankExists, BankNameTaken: there is a bank of this name by now. It is unchanged.
        """
        assert self._folder is not None
        bank = self._folder / (name + SUFFIX)
        with file_errors(bank), hold_lock(self._folder / LOCK_FILE):
            self._require_free(name)
            remove_derived(bank)
            try:
                move_to_new_name(file, bank)
            except FileExistsError:  # a file that was copied there just now
                raise BankExists(f"there is a bank {name!r}, and it is not replaced") from None

    def _own_spelling(self, name: str) -> str:
        """Return the normalised name.

        If banks with the name as it is and with the normalised name both exist, keep the name. Such a pair was made by
        hand, on a file system that distinguishes Unicode forms.
        """
        normal = checked_name(name)
        return name if name != normal and name in self._files() else normal

    def _find(self, name: str, *, create: bool) -> Path | None:
        """Return the file of a bank, or ``None`` for a bank in memory.

        With ``create``, a missing file is created empty.

        Raises:
            BankNotFound: the bank does not exist, and ``create`` is false.
            BankNameTaken: a bank has this name in another spelling.
        """
        path = None if self._folder is None else self._folder / (name + SUFFIX)
        if path is not None and _is_spelled_so(path):
            return path
        files = self._files()
        if (known := find_name(name, files)) is not None:
            return files[known]
        if not create:
            raise BankNotFound(f"no bank {name!r} in {self._folder or 'memory'}; there are: {_join_names(files)}")
        if path is None:
            return None
        with file_errors(path), hold_lock(path.with_name(LOCK_FILE)):
            files = self._files()
            if (known := find_name(name, files)) is not None:  # another process was faster
                return files[known]
            remove_derived(path)
            path.touch()
        return path

    def _files(self) -> dict[str, Path | None]:
        """Return the existing banks with their files. Names are normalised, unless two of them would be the same."""
        if self._folder is None:
            with self._lock:
                return dict.fromkeys(self._in_memory)
        with file_errors(self._folder):
            try:
                names = os.listdir(self._folder)
            except FileNotFoundError:
                return {}
        found = [name for name in names if name.endswith(SUFFIX) and name != SUFFIX]
        files: dict[str, Path | None] = {}
        for file in sorted(found, key=lambda file: not unicodedata.is_normalized("NFC", file)):
            stem = file.removesuffix(SUFFIX)
            name = unicodedata.normalize("NFC", stem)
            files[stem if name in files else name] = self._folder / file
        return files

    def _job_times(self, banks: Collection[str] | None) -> dict[str, JobTimes | None]:
        files = {name: file for name, file in self._files().items() if banks is None or name in banks}
        with self._lock:
            opened = {name: store for name, store in self._in_memory.items() if name in files}
        times: dict[str, JobTimes | None] = {name: store.job_times() for name, store in opened.items()}
        return times | self._peek.job_times({name: file for name, file in files.items() if file is not None})


class _Opening:
    """A lock that exists as long as somebody is opening the bank."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def _is_spelled_so(path: Path) -> bool:
    """Return true if a file with exactly this spelling exists.

    On a file system that ignores case, only a listing could show the spelling. There the result is false.
    """
    other = path.with_name(path.name.removesuffix(SUFFIX) + SUFFIX.upper())
    with file_errors(path):
        return path.exists() and not (other.exists() and other.samefile(path))


def _join_names(names: Collection[str]) -> str:
    """Return names for an error message."""
    some = ", ".join(sorted(names)[:_MOST_LISTED]) or "none"
    return some if len(names) <= _MOST_LISTED else f"{some} and {len(names) - _MOST_LISTED:,} more"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as exc:
        raise NotABank(f"{folder} is a file, but a store is a folder of banks") from exc
    except OSError as exc:
        raise StoreUnavailable(f"the folder {folder} cannot be created ({exc.strerror})") from exc
