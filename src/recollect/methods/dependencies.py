"""The dependencies from which the parts of a recipe are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from recollect.models.embedder import Embedder
    from recollect.models.language import LanguageModel
    from recollect.ports import Retriever
    from recollect.retain.entity_directory import DirectoryCache

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The embedder, the retriever, the model, the names and the clock that a recipe's parts use in one bank.

    ``model`` writes the ledger of the bank, and chooses the model of each role. ``names`` are the names that the bank
    knows. All parts that derive changes share them. ``clock`` returns the aware present, which dates what is stored.
    The present of a question may differ. ``retriever`` finds evidence.
    """

    embedder: Embedder
    retriever: Retriever
    model: LanguageModel
    names: DirectoryCache
    clock: Callable[[], datetime]


Factory = Callable[[Dependencies], T]
"""Makes one part of a recipe for one bank: a class, or ``functools.partial`` of it with its settings."""


@dataclass(frozen=True, slots=True)
class LazyFactory(Generic[T]):
    """A factory whose module is imported when the factory is first needed, so that an unused recipe costs nothing.

    ``path`` is the place of the factory, in the form of an entry point: ``package.module:Name``.
    """

    path: str

    def __call__(self, dependencies: Dependencies) -> T:
        """Make the part for one bank."""
        return self.load()(dependencies)

    def load(self) -> Factory[T]:
        """Import the factory, and return it."""
        module, _, name = self.path.partition(":")
        factory: Factory[T] = getattr(import_module(module), name)
        return factory
