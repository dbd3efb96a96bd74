"""Open a memory from arguments or from settings. The store is imported when the first memory is opened."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Self

from recollect.app.backends import build_embedder, build_reranker, build_time_reader, configure_recipe, connect_embedder
from recollect.app.model_pool import ModelPool
from recollect.app.models import ModelArgument, build_language_model, choose_model
from recollect.app.settings import LimitsArgument, Settings, load_settings, normalize_limits
from recollect.errors import InvalidInput
from recollect.memory.memory import BaseMemory, utc_now
from recollect.memory.services import Clock
from recollect.models.embedder import Embedder
from recollect.models.reranker import Reranker
from recollect.models.time_reader import TimeReader
from recollect.recipes import OwnModel, Recipe, SearchModels, get_recipe
from recollect.store.stores import OpenLimits, Stores
from recollect.worker import WorkerSettings


class Memory(BaseMemory):
    """Long-term memory: banks in a folder, or in the store of another engine."""

    @classmethod
    def open(
        cls,
        store: str | Path | Stores,
        *,
        embedder: Embedder | str | None = None,
        reranker: Reranker | None = None,
        time_reader: TimeReader | OwnModel | None = None,
        recipe: Recipe | str = "default",
        model: ModelArgument | None = None,
        limits: LimitsArgument | None = None,
        worker: WorkerSettings | None = None,
        open_banks: int | None = None,
        open_megabytes: int | None = None,
        clock: Clock = utc_now,
    ) -> Self:
        """Open a memory in a folder or in another store.

        If ``model``, ``limits``, ``open_banks`` or ``open_megabytes`` is left out, its value is read from the
        environment or from the folder's ``recollect.toml``.

        Args:
            store: a folder, which is created if it does not exist, or ``":memory:"``. Or the store of another engine
                (:class:`recollect.store.stores.Stores`), which the memory closes when it is closed itself.
            embedder: an embedder or its name, such as ``"none"`` for a memory without vectors. By default it is
                wordllama with its static embeddings, or ``"none"`` if wordllama is not installed.
            reranker: a reranker. By default there is none.
            time_reader: reads the times in questions that the rules cannot read. ``"model"`` means the language model
                of the role ``"assist"``. By default there is none.
            recipe: a recipe or its name.
            model: a language model, ``"provider:model"`` or ``"none"``. Or a mapping from roles to these. The roles are
                ``"extract"``, ``"consolidate"``, ``"reflect"``, ``"answer"`` and ``"assist"``. ``"default"`` is for all
                other roles.
            limits: limits on the tokens that each bank's model calls may cost, as values or as a text such as
                ``"2M/day,extract=500k/day"``. Or a mapping from banks to these. ``"default"`` is for all other banks.
            worker: the settings of background work.
            open_banks: the maximum number of open banks, 40 by default. If there are more, the banks used longest ago
                are closed. They are opened again when they are used.
            open_megabytes: the approximate maximum of memory for all open banks of a folder together, 1,024 by default.
            clock: returns the present as an aware datetime.

        Raises:
            StoreUnavailable: the folder cannot be created or read.
            InvalidInput: a name is unknown, the settings cannot be read, or the store is an address.
        """
        folder = _require_folder(store) if isinstance(store, str | Path) else ":memory:"  # which has no settings
        settings = load_settings(os.environ, store=folder)
        given = normalize_limits(settings.limits if limits is None else limits)
        asked = {"banks": open_banks, "megabytes": open_megabytes}
        at_a_time = replace(settings.open_limits, **{name: most for name, most in asked.items() if most is not None})
        return cls(
            _open_folder(folder, at_a_time) if isinstance(store, str | Path) else store,
            search_models=SearchModels(embedder=_choose_embedder(embedder), reranker=reranker, time_reader=time_reader),
            recipe=get_recipe(recipe) if isinstance(recipe, str) else recipe,
            services=ModelPool(
                choose_model(model, settings), limits=given, clock=clock, settings=worker, cache=settings.cache
            ),
            clock=clock,
            remembered=at_a_time.banks,
        )


async def open_memory(settings: Settings, *, worker: WorkerSettings | None = None, clock: Clock = utc_now) -> Memory:
    """Open the memory that the settings describe. ``worker`` are the settings of background work.

    Raises:
        InvalidInput: a name is unknown, or the store is an address.
        StoreUnavailable: the folder cannot be created or read.
        ModelUnavailable: the dimension of an endpoint is unknown, and the endpoint could not be reached.
    """
    folder = _require_folder(settings.store)
    recipe = configure_recipe(settings)
    reranker = build_reranker(settings.reranker, api_key=settings.api_key)
    time_reader = build_time_reader(settings.time_reader)
    services = ModelPool(
        build_language_model(settings),
        limits=normalize_limits(settings.limits),
        clock=clock,
        settings=worker,
        cache=settings.cache,
    )
    embedder = await connect_embedder(build_embedder(settings.embedder, api_key=settings.api_key))
    return Memory(
        _open_folder(folder, settings.open_limits),
        search_models=SearchModels(embedder=embedder, reranker=reranker, time_reader=time_reader),
        recipe=recipe,
        services=services,
        clock=clock,
        remembered=settings.open_limits.banks,
    )


def _open_folder(store: str, limits: OpenLimits) -> Stores:
    from recollect.store.sqlite.folder import SqliteFolder

    return SqliteFolder(store, limits=limits)


def _choose_embedder(given: Embedder | str | None) -> Embedder:
    return build_embedder(given) if given is None or isinstance(given, str) else given


def _require_folder(store: str | Path) -> str:
    """Return the path of a store that is a folder.

    Raises:
        InvalidInput: the store is an address.
    """
    if "://" in str(store):
        raise InvalidInput(f"the store {str(store)!r} is an address; a store is a folder")
    return str(store)
