"""All banks of a store."""

from __future__ import annotations

from datetime import UTC, datetime
from types import TracebackType
from typing import Protocol, Self

from recollect.domain.banks import BankInfo
from recollect.errors import EmbedderMismatch
from recollect.memory.bank import Bank, Clock
from recollect.models.embedder import Embedder
from recollect.models.reranker import Reranker
from recollect.recall.pipeline import TemprRetriever
from recollect.recipes import Recipe
from recollect.retain.encode import TurnEncoder
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
        embedder: for what is retained and asked.
        recipe: how to keep and to find.
        reranker: optional.
        clock: gives the aware present; the only place where time is read.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        embedder: Embedder,
        recipe: Recipe,
        reranker: Reranker | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._stores, self._embedder, self._recipe = stores, embedder, recipe
        self._reranker, self._clock = reranker, clock
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
        _require_same(store, self._embedder)
        return self._wrapped(store)

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
        await self._stores.drop(name)
        self._banks.pop(name, None)

    async def close(self) -> None:
        """Close every bank; nothing that was acknowledged depends on it."""
        self._banks.clear()
        await self._stores.close()

    def _open(self, name: str, create: bool) -> Store:
        embedder = self._embedder
        return self._stores.open(name, embedder=embedder.name, dimension=embedder.dimension, create=create)

    def _wrapped(self, store: Store) -> Bank:
        bank = self._banks.get(store.name)
        if bank is None or not bank.works_on(store):
            self._banks[store.name] = Bank(
                store,
                encoder=TurnEncoder(self._embedder, settings=self._recipe.encode),
                retriever=TemprRetriever(self._embedder, reranker=self._reranker, settings=self._recipe.recall),
                embedder=self._embedder,
                clock=self._clock,
            )
        return self._banks[store.name]


def _require_same(store: Store, embedder: Embedder) -> None:
    if (store.embedder, store.dimension) != (embedder.name, embedder.dimension):
        raise EmbedderMismatch(
            f"bank {store.name!r} holds vectors of {store.embedder} ({store.dimension} dimensions), but "
            f"{embedder.name} ({embedder.dimension}) is configured; embed its items anew: "
            f"recollect rebuild {store.name}"
        )
