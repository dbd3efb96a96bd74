"""All banks of a store."""

from __future__ import annotations

import asyncio
import logging
import unicodedata
from collections import OrderedDict
from datetime import UTC, datetime
from functools import cache
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

from recollect.domain.banks import BankInfo
from recollect.errors import BankNotFound, EmbedderMismatch
from recollect.memory.bank import Bank, Clock
from recollect.memory.services import Services
from recollect.models.embedder import Embedder
from recollect.recipes import AssembledRecipe, Recipe, SearchModels, assemble_recipe, get_recipe
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.facts import FactEncoder
from recollect.store.protocol import Store
from recollect.store.stores import OpenLimits, Stores

_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


class BaseMemory:
    """Banks by name. Use it as ``async with``, or call :meth:`close`.

    Args:
        stores: where the banks are kept.
        search_models: the embedder, and what else memory is searched with.
        recipe: how to keep, to find and to answer.
        services: the language models, and who works with them.
        clock: gives the aware present; the only place where time is read.
        remembered: so many banks are ready for the next call of :meth:`bank`, those used last.
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
        self._stores, self._finders, self._recipe = stores, search_models, recipe
        self._services, self._clock, self._remembered = services, clock, remembered
        self._banks: WeakValueDictionary[str, Bank] = WeakValueDictionary()
        self._recent: OrderedDict[str, Bank] = OrderedDict()  # the one opened longest ago first
        self._served: set[str] = set()  # whose jobs are done here
        self._kinds: frozenset[str] = frozenset()  # of jobs that the recipe does
        self._looking: asyncio.Task[None] | None = None
        self._warned: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def bank(self, name: str, *, create: bool = True) -> Bank:
        """Open a bank, made new if there is none and ``create`` is true.

        Raises:
            BadBankName: the name cannot be a file's.
            BankNameTaken: a bank has this name in another spelling, such as "Ada" for "ada".
            BankNotFound: there is none, and ``create`` is false.
            EmbedderMismatch: its vectors come from another embedder; :meth:`rebuild` mends that.
            StoreUnavailable, NotABank, NewerSchema: the file cannot be used; says why.
        """
        store = await self._open(name, create)
        _require_same(store, self._finders.embedder)
        bank = self._make_bank(store)
        bank.resume_work()
        self._look_for_jobs(store.name)
        return bank

    async def rebuild(self, name: str) -> Bank:
        """Open a bank whose vectors may come from another embedder, embed every item anew, and give it.

        Raises:
            BankNotFound: there is none of that name.
            ModelUnavailable: the embedder could not be reached; the bank is as it was.
        """
        bank = self._make_bank(await self._open(name, create=False))
        await bank.rebuild()
        return bank

    async def banks(self) -> tuple[str, ...]:
        """The names of all banks, sorted."""
        return await self._stores.names()

    async def banks_with_jobs(self, *, due: bool = True) -> tuple[str, ...]:
        """Return the names of the banks that have a job to be done, the one that is due longest first; opens none.

        A bank that cannot be read is among them. With ``due=False`` also banks whose jobs are only due later.
        """
        return await self._stores.banks_with_jobs(until=self._clock() if due else None, kinds=self._kinds)

    async def info(self, name: str) -> BankInfo:
        """A bank in numbers, whatever embedder its vectors come from.

        Raises:
            BankNotFound: there is none of that name.
            StoreUnavailable, NotABank, NewerSchema: the file cannot be used; says why.
        """
        return await (await self._open(name, create=False)).info()

    async def drop(self, name: str) -> None:
        """Erase a bank with all its files.

        Raises:
            BankNotFound: there is none of that name.
        """
        name = unicodedata.normalize("NFC", name)
        self._served.discard(name)
        self._recent.pop(name, None)
        bank = self._banks.pop(name, None)
        if bank is not None:
            await bank.stop_jobs()
        await self._stores.drop(name)

    async def close(self) -> None:
        """Close every bank; nothing that was acknowledged depends on it, and unfinished jobs wait for the next time."""
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

    def _look_for_jobs(self, name: str) -> None:
        """See to it that jobs of a bank are done when they are due later, whether it is open then or not."""
        self._served.add(name)
        if self._kinds and self._services.poll_s is not None and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(self._services.poll_s), name="recollect look")

    async def _look(self, every_s: float) -> None:
        """Look across the banks that were opened here, again and again, and set going those with jobs that are due."""
        while True:
            await asyncio.sleep(every_s)
            try:
                served = frozenset(self._served)
                due = await self._stores.banks_with_jobs(until=self._clock(), kinds=self._kinds, banks=served)
            except Exception as exc:  # the jobs are in the store: the next look may find it
                self._warn("the store", exc)
                continue
            for name in due:
                try:
                    await self.bank(name, create=False)
                except BankNotFound:  # dropped by another process
                    self._served.discard(name)
                except Exception as exc:  # a bank that cannot be read must not keep the others waiting
                    self._warn(f"bank {name!r}", exc)

    def _warn(self, what: str, exc: Exception) -> None:
        """Log what keeps background work from going on, once until it is something else."""
        if self._warned.get(what) != str(exc):
            _log.warning("the jobs of %s cannot be looked for: %s", what, exc)
        self._warned[what] = str(exc)

    async def _open(self, name: str, create: bool) -> Store:
        embedder = self._finders.embedder
        return await self._stores.open(name, embedder=embedder.name, dimension=embedder.dimension, create=create)

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
        model, names = self._services.model_for(store), DirectoryCache()

        @cache
        def method(recipe: str | None) -> AssembledRecipe:
            chosen = self._recipe if recipe is None else get_recipe(recipe)
            return assemble_recipe(chosen, self._finders, model, names, self._clock)

        self._kinds = frozenset(one.kind for one in method(None).consolidators)
        return Bank(
            store,
            method=method,
            facts=FactEncoder(self._finders.embedder, names),
            embedder=self._finders.embedder,
            model=model,
            work=self._services.runner_for(store, method(None).consolidators),
            clock=self._clock,
        )


def _require_same(store: Store, embedder: Embedder) -> None:
    if (store.embedder, store.dimension) != (embedder.name, embedder.dimension):
        held = f"vectors of {store.embedder} ({store.dimension} dimensions)" if store.dimension else "no vectors"
        raise EmbedderMismatch(
            f"bank {store.name!r} holds {held}, but the embedder {embedder.name} ({embedder.dimension} dimensions) is "
            f"configured; choose the embedder {store.embedder}, or change the bank over: "
            f"recollect rebuild {store.name} --embedder NAME"
        )
