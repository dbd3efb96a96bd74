"""The composition root: the only room that names concrete parts and reads settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from recollect.errors import InvalidInput
from recollect.memory.bank import Clock
from recollect.memory.memory import BaseMemory, utc_now
from recollect.models.embedder import Embedder
from recollect.models.embedders.endpoint import EndpointEmbedder
from recollect.models.embedders.sentence_transformers import SentenceTransformerEmbedder
from recollect.models.embedders.wordllama import WordLlamaEmbedder
from recollect.models.reranker import Reranker
from recollect.models.rerankers.cross_encoder import CrossEncoderReranker
from recollect.models.rerankers.endpoint import EndpointReranker
from recollect.recall.settings import Arm
from recollect.recipes import Recipe, recipe_named
from recollect.store.sqlite.folder import SqliteFolder

EMBEDDERS = "wordllama, wordllama-128, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL"
RERANKERS = "none, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL"

_WORDLLAMA = re.compile(r"wordllama(?:-(?P<dimension>64|128|256))?")
_ENDPOINT = re.compile(r"endpoint:(?P<model>.+?)@(?P<url>https?://.+)")


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
            InvalidInput: there is no such recipe, or the store is an address.
        """
        if "://" in str(store):
            raise InvalidInput(f"the store {str(store)!r} is an address; a store is a folder")
        return cls(
            SqliteFolder(store),
            embedder=embedder or WordLlamaEmbedder(),
            recipe=recipe_named(recipe) if isinstance(recipe, str) else recipe,
            reranker=reranker,
            clock=clock,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a command line and the environment choose; names are read by :func:`embedder_named` and its like.

    ``arms`` are those of the recipe where it is ``None``. ``api_key`` goes to endpoints, and is never shown.
    """

    store: str = "./recollect-data"
    embedder: str = "wordllama"
    reranker: str = "none"
    recipe: str = "default"
    arms: tuple[Arm, ...] | None = None
    api_key: str | None = field(default=None, repr=False)


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Settings from ``RECOLLECT_STORE``, ``_EMBEDDER``, ``_RERANKER`` and ``_API_KEY``; an empty value is none."""
    default = Settings()
    return Settings(
        store=environ.get("RECOLLECT_STORE") or default.store,
        embedder=environ.get("RECOLLECT_EMBEDDER") or default.embedder,
        reranker=environ.get("RECOLLECT_RERANKER") or default.reranker,
        api_key=environ.get("RECOLLECT_API_KEY") or None,
    )


def recipe_of(settings: Settings) -> Recipe:
    """The recipe with the arms that were chosen.

    Raises:
        InvalidInput: there is no such recipe.
    """
    recipe = recipe_named(settings.recipe)
    if settings.arms is None:
        return recipe
    return replace(recipe, recall=replace(recipe.recall, arms=settings.arms))


async def open_memory(settings: Settings, *, clock: Clock = utc_now) -> Memory:
    """The memory that the settings describe.

    Raises:
        InvalidInput: a name is unknown.
        StoreUnavailable: the folder cannot be made or read.
        ModelUnavailable: an endpoint that has to tell its dimension could not be reached.
    """
    recipe = recipe_of(settings)
    reranker = reranker_named(settings.reranker, api_key=settings.api_key)
    embedder = await ready(embedder_named(settings.embedder, api_key=settings.api_key))
    return Memory.open(settings.store, embedder=embedder, reranker=reranker, recipe=recipe, clock=clock)


async def ready(embedder: Embedder) -> Embedder:
    """The embedder, its dimension known.

    Raises:
        ModelUnavailable: an endpoint could not be reached.
    """
    return await embedder.connect() if isinstance(embedder, EndpointEmbedder) else embedder


def embedder_named(name: str, *, api_key: str | None = None) -> Embedder:
    """An embedder by its name; nothing is loaded or asked yet.

    ``wordllama``, with ``-64`` or ``-128`` for smaller vectors; ``st:all-MiniLM-L6-v2`` or ``st:./folder``; ``endpoint:bge-m3@http://localhost:8000/v1``.

    Raises:
        InvalidInput: the name is none of these.
    """
    if words := _WORDLLAMA.fullmatch(name):
        return WordLlamaEmbedder(int(words["dimension"] or 256))
    if endpoint := _ENDPOINT.fullmatch(name):
        return EndpointEmbedder(endpoint["model"], endpoint["url"], api_key)
    if source := _local_model(name):
        return SentenceTransformerEmbedder(source)
    raise InvalidInput(f"no embedder {name!r}; it is one of {EMBEDDERS}")


def reranker_named(name: str, *, api_key: str | None = None) -> Reranker | None:
    """A reranker by its name, as :func:`embedder_named`; ``None`` for ``none``.

    Raises:
        InvalidInput: the name is none of a reranker.
    """
    if name == "none":
        return None
    if endpoint := _ENDPOINT.fullmatch(name):
        return EndpointReranker(endpoint["model"], endpoint["url"], api_key)
    if source := _local_model(name):
        return CrossEncoderReranker(source)
    raise InvalidInput(f"no reranker {name!r}; it is one of {RERANKERS}")


def _local_model(name: str) -> str | Path | None:
    """What stands after ``st:``; a path where it is written as one, so that the model hub is not asked for it."""
    source = name.removeprefix("st:")
    if source == name or not source:
        return None
    return Path(source).expanduser() if source.startswith((".", "/", "~")) else source
