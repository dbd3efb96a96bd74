"""All banks of a store."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from functools import cache
from types import TracebackType
from typing import Protocol, Self

from recollect.domain.banks import BankInfo
from recollect.errors import EmbedderMismatch
from recollect.memory.bank import Bank, Clock
from recollect.memory.services import Services
from recollect.models.embedder import Embedder
from recollect.recipes import AssembledRecipe, Recipe, SearchModels, assemble_recipe, recipe_named
from recollect.retain.facts import FactEncoder
from recollect.retain.known_names import KnownNames
from recollect.store.protocol import Store


class Stores(Protocol):
    """Where banks are kept."""

    def names(self) -> tuple[str, ...]: ...

    def open(self, name: str, *, embedder: str, dimension: int, create: bool = True) -> Store: ...

    async def drop(self, name: str) -> None: ...

    async def close(self) -> None: ...


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
    """

    def __init__(
        self,
        stores: Stores,
        *,
        search_models: SearchModels,
        recipe: Recipe,
        services: Services,
        clock: Clock = utc_now,
    ) -> None:
        self._stores, self._finders, self._recipe = stores, search_models, recipe
        self._services, self._clock = services, clock
        self._banks: dict[str, Bank] = {}

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
            BankNotFound: there is none, and ``create`` is false.
            EmbedderMismatch: its vectors come from another embedder; :meth:`rebuild` mends that.
            StoreUnavailable, NotABank, NewerSchema: the file cannot be used; says why.
        """
        store = self._open(name, create)
        _require_same(store, self._finders.embedder)
        bank = self._wrapped(store)
        bank.go_on()
        return bank

    async def rebuild(self, name: str) -> Bank:
        """Open a bank whose vectors may come from another embedder, embed every item anew, and give it.

        Raises:
            BankNotFound: there is none of that name.
            ModelUnavailable: the embedder could not be reached; the bank is as it was.
        """
        bank = self._wrapped(self._open(name, create=False))
        await bank.rebuild()
        return bank

    async def banks(self) -> tuple[str, ...]:
        """The names of all banks, sorted."""
        return self._stores.names()

    async def info(self, name: str) -> BankInfo:
        """A bank in numbers, whatever embedder its vectors come from.

        Raises:
            BankNotFound: there is none of that name.
            StoreUnavailable, NotABank, NewerSchema: the file cannot be used; says why.
        """
        return await self._open(name, create=False).info()

    async def drop(self, name: str) -> None:
        """Erase a bank with all its files.

        Raises:
            BankNotFound: there is none of that name.
        """
        bank = self._banks.pop(unicodedata.normalize("NFC", name), None)
        if bank is not None:
            await bank.rest()
        await self._stores.drop(name)

    async def close(self) -> None:
        """Close every bank; nothing that was acknowledged depends on it, and unfinished jobs wait for the next time."""
        banks, self._banks = list(self._banks.values()), {}
        try:
            for bank in banks:
                await bank.rest()
        finally:
            await self._stores.close()

    def _open(self, name: str, create: bool) -> Store:
        embedder = self._finders.embedder
        return self._stores.open(name, embedder=embedder.name, dimension=embedder.dimension, create=create)

    def _wrapped(self, store: Store) -> Bank:
        bank = self._banks.get(store.name)
        if bank is None or not bank.works_on(store):
            bank = self._banks[store.name] = self._staffed(store)
        return bank

    def _staffed(self, store: Store) -> Bank:
        model, names = self._services.model(store), KnownNames()

        @cache
        def method(recipe: str | None) -> AssembledRecipe:
            chosen = self._recipe if recipe is None else recipe_named(recipe)
            return assemble_recipe(chosen, self._finders, model, names, self._clock)

        return Bank(
            store,
            method=method,
            facts=FactEncoder(self._finders.embedder, names),
            embedder=self._finders.embedder,
            model=model,
            work=self._services.work(store, method(None).consolidators),
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
