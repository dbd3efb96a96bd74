"""The recipes: named ways to retain, to recall and to answer. An ablation of a paper is one changed field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Literal

from recollect.errors import InvalidInput
from recollect.methods.default.answer import DefaultResponder
from recollect.methods.dependencies import Dependencies, Factory
from recollect.methods.emem.answer import Reconstructor
from recollect.methods.emem.router import Router
from recollect.methods.emem.summarizer import Summarizer
from recollect.methods.hindsight.answerer import Answerer
from recollect.methods.hindsight.beliefs import OpinionBeliefs
from recollect.methods.hindsight.extractor import Extractor
from recollect.methods.hindsight.observer import Observer
from recollect.methods.hindsight.reflector import Reflector
from recollect.methods.hindsight.reinforcer import Reinforcer
from recollect.methods.memr3.answer import LoopResponder
from recollect.methods.recmem.answer import TierAnswerer
from recollect.methods.recmem.calibration import RecurrenceCalibrator
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.remem.indexer import Indexer
from recollect.methods.remem.single import SinglePassResponder
from recollect.methods.remem.tool_loop import RecollectionResponder
from recollect.methods.remem.tools import offer_tools
from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.models.reranker import Reranker
from recollect.models.time_reader import TimeReader
from recollect.ports import Beliefs, Calibrator, Consolidator, Encoder, MakeTools, Responder, Retriever
from recollect.recall.language_time import LanguageTimeReader
from recollect.recall.pipeline import TemprRetriever
from recollect.recall.settings import Fusion, RecallSettings
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.segments import SegmentSettings

OwnModel = Literal["model"]

GROUP: Final = "recollect.recipes"
"""The group of entry points for recipes of other packages."""


def make_turn_encoder(dependencies: Dependencies, settings: EncodeSettings | None = None) -> TurnEncoder:
    """Return the encoder that calls no model. It makes turns with their times, names and links, and segments if
    requested.
    """
    return TurnEncoder(dependencies.embedder, names=dependencies.names, settings=settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A named way to retain, to recall and to answer.

    ``consolidate`` are in the order in which their work builds on each other. ``consolidate``, ``answer`` and
    ``reflect`` need a language model. Without a model, a bank queues the jobs for ``consolidate``. If
    ``has_background_work`` is false, it does not queue them, and ``Bank.backfill`` catches up when there is a model.

    ``recall`` are the settings for the search of single items. ``retrieve`` builds another retriever on top, for
    recipes that find more than single items. ``reflect`` always uses single items. If ``model_reads_time`` is true and
    no time reader is given, the model reads the times in questions that the rules cannot read. If
    ``answers_with_model`` is false, ``answer`` is also called without a model.

    ``tools`` provides ``bank.tools``. ``beliefs`` provides ``bank.opinions`` and ``bank.add_background``.
    ``calibrator`` provides ``bank.calibrate``. If one of them is ``None``, the recipe does not offer this, and the bank
    raises an error.
    """

    name: str
    encode: Factory[Encoder] = make_turn_encoder
    recall: RecallSettings = field(default_factory=RecallSettings)
    retrieve: Factory[Retriever] | None = None
    model_reads_time: bool = False
    consolidate: tuple[Factory[Consolidator], ...] = ()
    has_background_work: bool = True
    answer: Factory[Responder] = Answerer
    answers_with_model: bool = True
    reflect: Factory[Responder] = Reflector
    tools: Factory[MakeTools] | None = offer_tools
    beliefs: Factory[Beliefs] | None = OpinionBeliefs
    calibrator: Factory[Calibrator] | None = RecurrenceCalibrator


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="default",
            encode=partial(make_turn_encoder, settings=EncodeSettings(segments=SegmentSettings(summaries=False))),
            consolidate=(UnitConsolidator,),
            has_background_work=False,
            answer=DefaultResponder,
        ),
        Recipe(name="tempr", recall=RecallSettings(fusion=Fusion.RRF)),
        Recipe(name="hindsight", consolidate=(Extractor, Reinforcer, Observer)),
        Recipe(name="remem", consolidate=(Indexer,), answer=RecollectionResponder),
        Recipe(name="remem_single", consolidate=(Indexer,), answer=SinglePassResponder),
        Recipe(name="memr3", answer=LoopResponder),
        Recipe(name="recmem", consolidate=(UnitConsolidator,), answer=TierAnswerer),
        Recipe(
            name="emem",
            encode=partial(make_turn_encoder, settings=EncodeSettings(segments=SegmentSettings())),
            retrieve=Router,
            consolidate=(Summarizer,),
            answer=Reconstructor,
        ),
    )
}

_registered: dict[str, Recipe] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRecipe:
    """A recipe with a name and the package that it comes from. ``problem`` says why it cannot be used, if so."""

    name: str
    package: str
    problem: str | None = None


def register_recipe(recipe: Recipe) -> None:
    """Register a recipe by its name in this process. An entry point registers a recipe for every process.

    Raises:
        InvalidInput: another recipe has this name.
    """
    if recipe.name in RECIPES or recipe.name in _registered or recipe.name in _entry_points():
        raise InvalidInput(f"the name {recipe.name!r} is taken by another recipe. Choose another name")
    _registered[recipe.name] = recipe


def get_recipe(name: str) -> Recipe:
    """Return a recipe by its name: a recipe of recollect, a registered one, or one of another package.

    Raises:
        InvalidInput: there is no recipe of this name, or its package cannot be used.
    """
    known = RECIPES.get(name) or _registered.get(name)
    if known is not None:
        return known
    points = _entry_points()
    if name not in points:
        raise InvalidInput(
            f"there is no recipe {name!r}. The recipes are: {', '.join((*RECIPES, *_registered, *points))}"
        )
    problem = _find_problem(name, points[name])
    if problem is not None:
        raise InvalidInput(f"the recipe {name!r} of {_join_packages(points[name])} cannot be used: {problem}")
    recipe: Recipe = points[name][0].load()
    return recipe


def list_recipes() -> tuple[ListedRecipe, ...]:
    """Return all recipes that have a name: those of recollect, registered ones and those of other packages.

    Recipes that cannot be used are included.
    """
    ours = [ListedRecipe(name=name, package="recollect") for name in RECIPES]
    registered = [ListedRecipe(name=name, package="this program") for name in _registered]
    others = [
        ListedRecipe(name=name, package=_join_packages(points), problem=_find_problem(name, points))
        for name, points in _entry_points().items()
    ]
    return (*ours, *registered, *others)


def _entry_points() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by name. Nothing is imported yet."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _find_problem(name: str, points: Sequence[EntryPoint]) -> str | None:
    """Return the reason why another package's recipe cannot be used, or ``None`` if it can be used."""
    if name in RECIPES:
        return "recollect has a recipe of this name. The package must choose another name"
    if len(points) > 1:
        return "several packages have a recipe of this name. Uninstall all but one"
    try:
        recipe = points[0].load()
    except Exception as exc:  # whatever another package raises while it is imported
        return f"{type(exc).__name__}: {exc}"
    if not isinstance(recipe, Recipe):
        return f"{points[0].value} is not a recollect.recipes.Recipe"
    if recipe.name != name:
        return f"{points[0].value} has the name {recipe.name!r}. An entry point must have the name of its recipe"
    return None


def _join_packages(points: Sequence[EntryPoint]) -> str:
    return ", ".join("an unknown package" if one.dist is None else one.dist.name for one in points)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledRecipe:
    """A recipe with its parts made for one bank."""

    name: str
    encoder: Encoder
    retriever: Retriever
    consolidators: tuple[Consolidator, ...]
    has_background_work: bool
    answer: Responder
    answers_with_model: bool
    reflect: Responder
    tools: MakeTools | None
    beliefs: Beliefs | None
    calibrator: Calibrator | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchModels:
    """The models for the search of a memory.

    ``time_reader`` reads times in questions that the rules cannot read. ``"model"`` means the bank's own language
    model.
    """

    embedder: Embedder
    reranker: Reranker | None = None
    time_reader: TimeReader | OwnModel | None = None


def assemble_recipe(
    recipe: Recipe,
    search_models: SearchModels,
    model: LanguageModel,
    names: DirectoryCache,
    clock: Callable[[], datetime],
) -> AssembledRecipe:
    """Make the parts of a recipe for one bank. ``model`` writes the bank's ledger, and ``names`` are the names in the
    bank.
    """
    tempr = TemprRetriever(
        search_models.embedder,
        reranker=search_models.reranker,
        time_reader=_choose_time_reader(recipe, search_models, model),
        settings=recipe.recall,
    )
    single = Dependencies(embedder=search_models.embedder, retriever=tempr, model=model, names=names, clock=clock)
    dependencies = single if recipe.retrieve is None else replace(single, retriever=recipe.retrieve(single))
    return AssembledRecipe(
        name=recipe.name,
        encoder=recipe.encode(single),
        retriever=dependencies.retriever,
        consolidators=tuple(one(dependencies) for one in recipe.consolidate),
        has_background_work=recipe.has_background_work,
        answer=recipe.answer(dependencies),
        answers_with_model=recipe.answers_with_model,
        reflect=recipe.reflect(single),  # an opinion needs single items as its evidence
        tools=recipe.tools and recipe.tools(single),
        beliefs=recipe.beliefs and recipe.beliefs(single),
        calibrator=recipe.calibrator and recipe.calibrator(single),
    )


def _choose_time_reader(recipe: Recipe, search_models: SearchModels, model: LanguageModel) -> TimeReader | None:
    if search_models.time_reader == "model" or (search_models.time_reader is None and recipe.model_reads_time):
        return LanguageTimeReader(model)
    return search_models.time_reader
