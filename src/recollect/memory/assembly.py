"""Put a bank together. This module imports all that a bank needs, so it is imported when the first bank is opened."""

from __future__ import annotations

from functools import cache

from recollect.memory.bank import Bank
from recollect.memory.services import Clock, Services
from recollect.recipes import Recipe, SearchModels, get_recipe
from recollect.recipes.assembly import AssembledRecipe, assemble_recipe
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.facts import FactEncoder
from recollect.store.protocol import Store


def assemble_bank(
    store: Store, *, recipe: Recipe, search_models: SearchModels, services: Services, clock: Clock
) -> tuple[Bank, frozenset[str]]:
    """Return the bank of a store, and the kinds of jobs that its recipe does."""
    model, names = services.model_for(store), DirectoryCache()

    @cache
    def method(name: str | None) -> AssembledRecipe:
        chosen = recipe if name is None else get_recipe(name)
        return assemble_recipe(chosen, search_models, model, names, clock)

    consolidators = method(None).consolidators
    bank = Bank(
        store,
        method=method,
        facts=FactEncoder(search_models.embedder, names),
        embedder=search_models.embedder,
        model=model,
        work=services.runner_for(store, consolidators),
        clock=clock,
    )
    return bank, frozenset(one.kind for one in consolidators)
