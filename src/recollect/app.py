"""The composition root: the only room that names concrete parts."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from recollect.memory.bank import Clock
from recollect.memory.memory import BaseMemory, utc_now
from recollect.models.embedder import Embedder
from recollect.models.embedders.wordllama import WordLlamaEmbedder
from recollect.models.reranker import Reranker
from recollect.recipes import Recipe, recipe_named
from recollect.store.sqlite.folder import SqliteFolder


class Memory(BaseMemory):
    """Long-term memory: banks in a folder."""

    @classmethod
    def open(
        cls,
        store: str | Path,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        recipe: Recipe | str = "default",
        clock: Clock = utc_now,
    ) -> Self:
        """Open a store.

        Args:
            store: a folder, made if it is not there; or ``":memory:"``.
            embedder: wordllama's static embeddings where left out.
            reranker: none where left out.
            recipe: a name or a value.
            clock: gives the aware present.

        Raises:
            StoreUnavailable: the folder cannot be made or read.
            InvalidInput: there is no such recipe.
        """
        return cls(
            SqliteFolder(store),
            embedder=embedder or WordLlamaEmbedder(),
            recipe=recipe_named(recipe) if isinstance(recipe, str) else recipe,
            reranker=reranker,
            clock=clock,
        )
