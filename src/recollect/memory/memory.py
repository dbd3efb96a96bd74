"""The facade of all banks in a store."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from weakref import WeakSet, WeakValueDictionary

from recollect._threads import run_in_thread
from recollect._unicode import normalize_unicode
from recollect.domain.banks import BankInfo
from recollect.domain.checks import require_type
from recollect.domain.processes import HomeProcess
from recollect.domain.receipts import BackupReceipt
from recollect.errors import BankNotFound, EmbedderMismatch, ModelError, StoreError
from recollect.memory.services import Clock, Services
from recollect.models.checked_embedder import CheckedEmbedder
from recollect.models.embedder import Embedder
from recollect.recipes import Recipe, SearchModels
from recollect.retain.write_embedder import WriteEmbedder
from recollect.store.backups import require_backups
from recollect.store.protocol import Store
from recollect.store.stores import OpenLimits, Stores

if TYPE_CHECKING:
    from recollect.memory.bank import Bank

_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


class BaseMemory:
    """Opens banks by their names. Use it with ``async with``, or call :meth:`close`.

    Args:
        stores: the stores of the banks.
        search_models: the embedder and the other models of the search.
        recipe: the way to retain, to recall and to answer.
        services: the language models, and the workers that use them.
        clock: returns the present as an aware datetime. It is the only source of the present.
        remembered: the number of banks, those used last, that stay ready for the next call of :meth:`bank`.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        search_models: SearchModels,
        recipe: Recipe,
        services: Services,
        clock: Clock = utc_now,
        remembered: int = OpenLimits().banks,
    ) -> None:
        self._stores, self._recipe = stores, recipe
        self._finders = replace(search_models, embedder=WriteEmbedder(CheckedEmbedder(search_models.embedder)))
        self._services, self._clock, self._remembered = services, clock, remembered
        self._banks: WeakValueDictionary[str, Bank] = WeakValueDictionary()
        self._recent: OrderedDict[str, Bank] = OrderedDict()  # the bank used longest ago comes first
        self._complete: WeakSet[Bank] = WeakSet()  # the banks in which every message is encoded
        self._served: set[str] = set()  # the names of the banks whose jobs are done here
        self._kinds: frozenset[str] = frozenset()  # the kinds of jobs that the recipe does
        self._imported = False
        self._home = HomeProcess()
        self._looking: asyncio.Task[None] | None = None
        self._warned: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def bank(self, name: str, *, create: bool = True) -> Bank:
        """Open a bank. If there is none of this name and ``create`` is true, a new bank is created.

        If a program was killed after it had stored messages and before it had encoded them, they are encoded first. A
        log message says so.

        Raises:
            BadBankName: the name cannot be the name of a file.
            BankNameTaken: a bank has this name in another spelling, such as "Ada" for "ada".
            BankNotFound: there is no bank of this name, and ``create`` is false.
            EmbedderMismatch: the vectors of the bank come from another embedder. Call :meth:`rebuild` to change them.
            StoreUnavailable, NotABank, NewerSchema: the file cannot be used. The message says why.
        """
        await self._import_parts()
        store = await self._open(name, create)
        _require_same(store, self._finders.embedder)
        bank = self._make_bank(store)
        await self._encode_missing(bank)
        bank.resume_work()
        self._look_for_jobs(store.name)
        return bank

    async def import_bank(self, name: str, lines: Iterable[str]) -> BankInfo:
        """Create a bank from the lines of :meth:`Bank.export`. An existing bank is filled if it is empty.

        The bank appears in one step, when everything is imported and checked. On an error, or if the process is
        killed, there is no bank, or the bank is empty as before. A bank that somebody else creates or fills meanwhile
        is never changed.

        Raises:
            BadBankName, BankNameTaken: the bank cannot have this name.
            BankExists: a bank of this name was created while the import was running.
            InvalidInput: there is a bank of this name and it is not empty, or the lines are not an export.
            MalformedLine: a line is damaged.
            ModelUnavailable: the items must be embedded again, and the embedder could not be reached.
        """
        self._home.require()
        from recollect.memory.transfer import import_lines

        try:
            existing = await self.bank(name, create=False)
        except BankNotFound:
            pass
        else:
            return await existing.import_(lines)
        embedder = self._finders.embedder
        await self._stores.create(
            name,
            embedder=embedder.name,
            dimension=embedder.dimension,
            fill=lambda staged: import_lines(staged, lines, embedder),
        )
        return await (await self.bank(name, create=False)).info()

    async def backup(self, name: str, file: str | Path) -> BackupReceipt:
        """Copy a bank to a new file, while others read and write it. The file contains the bank at one moment.

        The file appears when it is complete and checked. It contains everything that belongs to the bank, including
        jobs and costs. It does not contain what is derived again when it is needed: the graph for vector searches, and
        the states that language models keep.

        Raises:
            BankNotFound: there is no bank of this name.
            BankExists: the file exists. It is unchanged.
            NotABank: the bank is damaged. There is no backup.
            StoreUnavailable: the file cannot be written.
            MissingCapability: the store makes no backups.
        """
        self._home.require()
        return await require_backups(self._stores).backup(name, Path(file))

    async def restore(self, file: str | Path, name: str | None = None) -> BankInfo:
        """Make a new bank from a file of :meth:`backup`. It appears in one step, when it is complete and checked.

        Args:
            file: the backup. It is not changed.
            name: the name of the new bank. By default it is the name of the bank that was copied.

        Raises:
            BankExists: there is a bank of this name. It is unchanged.
            BadBankName, BankNameTaken: the bank cannot have this name.
            InvalidInput: there is no such file, or a name is needed.
            NotABank, NewerSchema: the file is not a bank, or it is damaged, or from a later version.
            StoreUnavailable: the bank cannot be stored.
            MissingCapability: the store makes no backups.
        """
        self._home.require()
        return await self.info(await require_backups(self._stores).restore(Path(file), name))

    async def rebuild(self, name: str) -> Bank:
        """Open a bank, whichever embedder its vectors come from, embed every item again, and return the bank.

        Raises:
            BankNotFound: there is no bank of this name.
            ModelUnavailable: the embedder could not be reached. The bank is unchanged.
        """
        await self._import_parts()
        bank = self._make_bank(await self._open(name, create=False))
        await bank.rebuild()
        return bank

    async def banks(self) -> tuple[str, ...]:
        """Return the names of all banks, sorted."""
        self._home.require()
        return await self._stores.names()

    async def banks_with_jobs(self, *, due: bool = True) -> tuple[str, ...]:
        """Return the names of the banks that have due jobs, the longest due first. No bank is opened.

        A bank that cannot be read is included. With ``due=False``, banks whose jobs are due later are included too.
        """
        self._home.require()
        return await self._stores.banks_with_jobs(until=self._clock() if due else None, kinds=self._kinds)

    async def info(self, name: str) -> BankInfo:
        """Return the numbers of a bank, whichever embedder its vectors come from.

        Raises:
            BankNotFound: there is no bank of this name.
            StoreUnavailable, NotABank, NewerSchema: the file cannot be used. The message says why.
        """
        return await (await self._open(name, create=False)).info()

    async def drop(self, name: str) -> None:
        """Delete a bank with all its files.

        Raises:
            BankNotFound: there is no bank of this name.
        """
        self._home.require()
        name = normalize_unicode("NFC", require_type("the name of a bank", name, str, "a string"))
        self._served.discard(name)
        self._recent.pop(name, None)
        bank = self._banks.pop(name, None)
        if bank is not None:
            await bank.stop_jobs()
        await self._stores.drop(name)

    async def close(self) -> None:
        """Close every bank. All acknowledged writes are already stored. Unfinished jobs continue when the bank is
        opened again.
        """
        if self._home.is_elsewhere:  # everything that is open belongs to the parent process
            return
        looking, self._looking = self._looking, None
        self._banks.clear()
        self._recent.clear()
        try:
            if looking is not None:
                looking.cancel()
                await asyncio.wait([looking])
            await self._services.close()
        finally:
            await self._stores.close()

    async def _encode_missing(self, bank: Bank) -> None:
        """Encode messages that a killed program has left without items, once for each opened bank."""
        if bank in self._complete:
            return
        try:
            count = await bank.encode_missing()
        except (ModelError, StoreError) as exc:  # the rest can be used, and the next opening tries again
            self._warn(f"encode the messages without items of bank {bank.name!r}", exc)
            return
        if count:
            _log.warning("bank %r: encoded %s messages that a killed program had left without items", bank.name, count)
        self._complete.add(bank)

    def _look_for_jobs(self, name: str) -> None:
        """Make sure that jobs of a bank which are due later are done, even if the bank is closed by then."""
        self._served.add(name)
        if self._kinds and self._services.poll_s is not None and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(self._services.poll_s), name="recollect look")

    async def _look(self, every_s: float) -> None:
        """Look for due jobs at regular intervals, in all banks that were opened here, and start them."""
        while True:
            await asyncio.sleep(every_s)
            try:
                served = frozenset(self._served)
                due = await self._stores.banks_with_jobs(until=self._clock(), kinds=self._kinds, banks=served)
            except Exception as exc:  # the jobs stay in the store, and the next look may succeed
                self._warn("look for the jobs of the store", exc)
                continue
            for name in due:
                try:
                    await self.bank(name, create=False)
                except BankNotFound:  # dropped by another process
                    self._served.discard(name)
                except Exception as exc:  # a bank that cannot be read must not delay the others
                    self._warn(f"look for the jobs of bank {name!r}", exc)

    def _warn(self, what: str, exc: Exception) -> None:
        """Log the reason why something cannot be done. The same reason is logged only once in a row."""
        if self._warned.get(what) != str(exc):
            _log.warning("cannot %s: %s", what, exc)
        self._warned[what] = str(exc)

    async def _open(self, name: str, create: bool) -> Store:
        self._home.require()
        embedder = self._finders.embedder
        return await self._stores.open(name, embedder=embedder.name, dimension=embedder.dimension, create=create)

    async def _import_parts(self) -> None:
        """Import the modules that a bank needs, once, in a thread. They take 0.1 s, so no import of recollect and no
        event loop waits for them.
        """
        if not self._imported:
            await run_in_thread(_import_parts, self._recipe)
            self._imported = True

    def _make_bank(self, store: Store) -> Bank:
        bank = self._banks.get(store.name)
        if bank is None or not bank.uses_store(store):
            bank = self._banks[store.name] = self._assemble_bank(store)
        self._recent[store.name] = bank
        self._recent.move_to_end(store.name)
        if len(self._recent) > self._remembered:
            self._recent.popitem(last=False)
        return bank

    def _assemble_bank(self, store: Store) -> Bank:
        from recollect.memory.assembly import assemble_bank

        bank, self._kinds = assemble_bank(
            store, recipe=self._recipe, search_models=self._finders, services=self._services, clock=self._clock
        )
        return bank


def _import_parts(recipe: Recipe) -> None:
    import recollect.memory.assembly  # noqa: F401

    recipe.load_parts()


def _require_same(store: Store, embedder: Embedder) -> None:
    if (store.embedder, store.dimension) != (embedder.name, embedder.dimension):
        held = f"vectors of {store.embedder} ({store.dimension} dimensions)" if store.dimension else "no vectors"
        raise EmbedderMismatch(
            f"bank {store.name!r} holds {held}, but the embedder {embedder.name} ({embedder.dimension} dimensions) is "
            f"configured. Choose the embedder {store.embedder}, or embed the items of the bank again: "
            f"recollect rebuild {store.name} --embedder NAME"
        )
