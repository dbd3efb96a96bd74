"""Recipes: how a bank keeps, finds and answers. A paper is a line here, an ablation one changed field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Literal

from recollect.errors import InvalidInput
from recollect.methods.default.answer import DefaultResponder
from recollect.methods.dependencies import Dependencies, Factory
from recollect.methods.emem.answer import Reconstructor
from recollect.methods.emem.route import Router
from recollect.methods.emem.summarise import Summariser
from recollect.methods.hindsight.answer import Answerer
from recollect.methods.hindsight.extract import Extractor
from recollect.methods.hindsight.observe import Observer
from recollect.methods.hindsight.reflect import Reflector
from recollect.methods.hindsight.reinforce import Reinforcer
from recollect.methods.memr3.answer import EvidenceGapResponder
from recollect.methods.recmem.answer import TierAnswerer
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.remem.index import Indexer
from recollect.methods.remem.react import RecollectionResponder
from recollect.methods.remem.single import SinglePassResponder
from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.models.reranker import Reranker
from recollect.models.timereader import TimeReader
from recollect.ports import Consolidator, Encoder, Responder, Retriever
from recollect.recall.language_time import LanguageTimeReader
from recollect.recall.pipeline import TemprRetriever
from recollect.recall.settings import Fusion, RecallSettings
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.known_names import KnownNames
from recollect.retain.segments import SegmentSettings

OwnModel = Literal["model"]


def turn_encoder(dependencies: Dependencies, settings: EncodeSettings | None = None) -> TurnEncoder:
    """Make the encoder that calls no model: turns with their times, names and links, and segments where asked for."""
    return TurnEncoder(dependencies.embedder, names=dependencies.names, settings=settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A named way to keep, to find and to answer.

    ``consolidate`` are in the order in which their work builds on each other. They, ``answer`` and ``reflect`` need a
    language model; without one a bank keeps the jobs that they would do, unless ``queues`` is false: then nothing waits
    for a model, and ``reread`` catches up where there is one later. ``recall`` says how single items are found;
    ``retrieve`` is built over that, where a recipe finds more than single items; ``reflect`` rests on single items
    always. ``model_reads_time`` asks the model for the times in questions that the rules cannot read, where no other
    time reader is given.
    """

    name: str
    encode: Factory[Encoder] = turn_encoder
    recall: RecallSettings = field(default_factory=RecallSettings)
    retrieve: Factory[Retriever] | None = None
    model_reads_time: bool = False
    consolidate: tuple[Factory[Consolidator], ...] = ()
    queues: bool = True
    answer: Factory[Responder] = Answerer
    reflect: Factory[Responder] = Reflector


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="default",
            encode=partial(turn_encoder, settings=EncodeSettings(segments=SegmentSettings(summaries=False))),
            consolidate=(UnitConsolidator,),
            queues=False,
            answer=DefaultResponder,
        ),
        Recipe(name="tempr", recall=RecallSettings(fusion=Fusion.RRF)),
        Recipe(name="hindsight", consolidate=(Extractor, Reinforcer, Observer)),
        Recipe(name="remem", consolidate=(Indexer,), answer=RecollectionResponder),
        Recipe(name="remem_single", consolidate=(Indexer,), answer=SinglePassResponder),
        Recipe(name="memr3", answer=EvidenceGapResponder),
        Recipe(name="recmem", consolidate=(UnitConsolidator,), answer=TierAnswerer),
        Recipe(
            name="emem",
            encode=partial(turn_encoder, settings=EncodeSettings(segments=SegmentSettings())),
            retrieve=Router,
            consolidate=(Summariser,),
            answer=Reconstructor,
        ),
    )
}


def recipe_named(name: str) -> Recipe:
    """A recipe by its name.

    Raises:
        InvalidInput: there is none of that name.
    """
    try:
        return RECIPES[name]
    except KeyError:
        raise InvalidInput(f"no recipe {name!r}; there are: {', '.join(RECIPES)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledRecipe:
    """A recipe with its parts made for one bank."""

    name: str
    encoder: Encoder
    retriever: Retriever
    consolidators: tuple[Consolidator, ...]
    queues: bool
    answer: Responder
    reflect: Responder


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchModels:
    """The models that a memory searches with.

    ``time_reader`` reads times in questions that the rules could not; ``"model"`` is the bank's own language model.
    """

    embedder: Embedder
    reranker: Reranker | None = None
    time_reader: TimeReader | OwnModel | None = None


def assemble_recipe(
    recipe: Recipe, search_models: SearchModels, model: LanguageModel, names: KnownNames, clock: Callable[[], datetime]
) -> AssembledRecipe:
    """Put a recipe together for one bank; ``model`` is the one that keeps its ledger, ``names`` are what it knows."""
    tempr = TemprRetriever(
        search_models.embedder,
        reranker=search_models.reranker,
        time_reader=_time_reader(recipe, search_models, model),
        settings=recipe.recall,
    )
    single = Dependencies(embedder=search_models.embedder, retriever=tempr, model=model, names=names, clock=clock)
    dependencies = single if recipe.retrieve is None else replace(single, retriever=recipe.retrieve(single))
    return AssembledRecipe(
        name=recipe.name,
        encoder=recipe.encode(single),
        retriever=dependencies.retriever,
        consolidators=tuple(one(dependencies) for one in recipe.consolidate),
        queues=recipe.queues,
        answer=recipe.answer(dependencies),
        reflect=recipe.reflect(single),  # an opinion rests on items, and can be told from which it came
    )


def _time_reader(recipe: Recipe, search_models: SearchModels, model: LanguageModel) -> TimeReader | None:
    if search_models.time_reader == "model" or (search_models.time_reader is None and recipe.model_reads_time):
        return LanguageTimeReader(model)
    return search_models.time_reader
