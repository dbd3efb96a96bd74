"""Make the parts of a recipe for one bank, each when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from recollect._threads import run_in_thread
from recollect.methods.dependencies import Dependencies
from recollect.models.language import LanguageModel
from recollect.models.time_reader import TimeReader
from recollect.ports import Beliefs, Calibrator, Consolidator, Encoder, MakeTools, Responder, Retriever
from recollect.recall.language_time import LanguageTimeReader
from recollect.recall.pipeline import TemprRetriever
from recollect.recipes.recipe import Recipe, SearchModels
from recollect.retain.entity_directory import DirectoryCache


class AssembledRecipe:
    """A recipe with its parts for one bank. A part is made, and its modules are imported, when it is first used.

    Args:
        recipe: the recipe.
        single: the dependencies of its parts. Their retriever finds single items.
    """

    def __init__(self, recipe: Recipe, single: Dependencies) -> None:
        self._recipe, self._single = recipe, single
        self._responder: Responder | None = None
        self._reflector: Responder | None = None

    @property
    def name(self) -> str:
        return self._recipe.name

    @property
    def has_background_work(self) -> bool:
        return self._recipe.has_background_work

    @property
    def answers_with_model(self) -> bool:
        return self._recipe.answers_with_model

    @cached_property
    def encoder(self) -> Encoder:
        return self._recipe.encode(self._single)

    @property
    def retriever(self) -> Retriever:
        return self._dependencies.retriever

    @cached_property
    def consolidators(self) -> tuple[Consolidator, ...]:
        return tuple(make(self._dependencies) for make in self._recipe.consolidate)

    async def responder(self) -> Responder:
        """Return the responder of ``ask``. A thread imports its modules, so that the event loop does not wait."""
        if self._responder is None:
            self._responder = await run_in_thread(self._recipe.answer, self._dependencies)
        return self._responder

    async def reflector(self) -> Responder:
        """Return the responder of ``reflect``. It finds single items, because an opinion needs them as its evidence."""
        if self._reflector is None:
            self._reflector = await run_in_thread(self._recipe.reflect, self._single)
        return self._reflector

    @cached_property
    def tools(self) -> MakeTools | None:
        return self._recipe.tools and self._recipe.tools(self._single)

    @cached_property
    def beliefs(self) -> Beliefs | None:
        return self._recipe.beliefs and self._recipe.beliefs(self._single)

    @cached_property
    def calibrator(self) -> Calibrator | None:
        return self._recipe.calibrator and self._recipe.calibrator(self._single)

    @cached_property
    def _dependencies(self) -> Dependencies:
        retrieve = self._recipe.retrieve
        return self._single if retrieve is None else replace(self._single, retriever=retrieve(self._single))


def assemble_recipe(
    recipe: Recipe,
    search_models: SearchModels,
    model: LanguageModel,
    names: DirectoryCache,
    clock: Callable[[], datetime],
) -> AssembledRecipe:
    """Return a recipe for one bank. ``model`` writes the bank's ledger, and ``names`` are the names in the bank."""
    tempr = TemprRetriever(
        search_models.embedder,
        reranker=search_models.reranker,
        time_reader=_choose_time_reader(recipe, search_models, model),
        settings=recipe.recall,
    )
    return AssembledRecipe(
        recipe,
        Dependencies(embedder=search_models.embedder, retriever=tempr, model=model, names=names, clock=clock),
    )


def _choose_time_reader(recipe: Recipe, search_models: SearchModels, model: LanguageModel) -> TimeReader | None:
    if search_models.time_reader == "model" or (search_models.time_reader is None and recipe.model_reads_time):
        return LanguageTimeReader(model)
    return search_models.time_reader
