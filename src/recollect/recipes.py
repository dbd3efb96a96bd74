"""Recipes: how a bank keeps, finds and answers. A paper is a line here, an ablation one changed field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from recollect.errors import InvalidInput
from recollect.methods.default.answer import Blend
from recollect.methods.emem.answer import Reconstruction
from recollect.methods.emem.route import Routing
from recollect.methods.emem.summarise import Summarising
from recollect.methods.hindsight.answer import Answering
from recollect.methods.hindsight.extract import Extraction
from recollect.methods.hindsight.observe import Observation
from recollect.methods.hindsight.reflect import Reflection
from recollect.methods.hindsight.reinforce import Reinforcement
from recollect.methods.memr3.answer import EvidenceGap
from recollect.methods.parts import Parts
from recollect.methods.recmem.answer import TierAnswering
from recollect.methods.recmem.consolidate import Consolidation
from recollect.methods.remem.index import Indexing
from recollect.methods.remem.react import Recollection
from recollect.methods.remem.single import SinglePass
from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.models.reranker import Reranker
from recollect.models.timereader import TimeReader
from recollect.ports import Consolidator, Responder, Retriever
from recollect.recall.language_time import LanguageTimeReader
from recollect.recall.pipeline import TemprRetriever
from recollect.recall.settings import Fusion, RecallSettings
from recollect.retain.encode import EncodeSettings
from recollect.retain.known_names import KnownNames
from recollect.retain.segments import SegmentSettings

T_co = TypeVar("T_co", covariant=True)

OwnModel = Literal["model"]


class Builds(Protocol[T_co]):
    """A part of a method with its constants, before it is put together for a bank."""

    def build(self, parts: Parts) -> T_co: ...


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
    encode: EncodeSettings = EncodeSettings()
    recall: RecallSettings = field(default_factory=RecallSettings)
    retrieve: Builds[Retriever] | None = None
    model_reads_time: bool = False
    consolidate: tuple[Builds[Consolidator], ...] = ()
    queues: bool = True
    answer: Builds[Responder] = Answering()
    reflect: Builds[Responder] = Reflection()


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="default",
            encode=EncodeSettings(segments=SegmentSettings(summaries=False)),
            consolidate=(Consolidation(),),
            queues=False,
            answer=Blend(),
        ),
        Recipe(name="tempr", recall=RecallSettings(fusion=Fusion.RRF)),
        Recipe(name="hindsight", consolidate=(Extraction(), Reinforcement(), Observation())),
        Recipe(
            name="remem",
            encode=EncodeSettings(statements=True),
            consolidate=(Indexing(),),
            answer=Recollection(),
        ),
        Recipe(
            name="remem_single",
            encode=EncodeSettings(statements=True),
            consolidate=(Indexing(),),
            answer=SinglePass(),
        ),
        Recipe(name="memr3", answer=EvidenceGap()),
        Recipe(name="recmem", consolidate=(Consolidation(),), answer=TierAnswering()),
        Recipe(
            name="emem",
            encode=EncodeSettings(segments=SegmentSettings()),
            retrieve=Routing(),
            consolidate=(Summarising(),),
            answer=Reconstruction(),
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
class Method:
    """A recipe put together for one bank."""

    retriever: Retriever
    consolidators: tuple[Consolidator, ...]
    queues: bool
    answer: Responder
    reflect: Responder


@dataclass(frozen=True, slots=True, kw_only=True)
class Finders:
    """The models that a memory searches with.

    ``time_reader`` reads times in questions that the rules could not; ``"model"`` is the bank's own language model.
    """

    embedder: Embedder
    reranker: Reranker | None = None
    time_reader: TimeReader | OwnModel | None = None


def assembled(
    recipe: Recipe, finders: Finders, model: LanguageModel, names: KnownNames, clock: Callable[[], datetime]
) -> Method:
    """Put a recipe together for one bank; ``model`` is the one that keeps its ledger, ``names`` are what it knows."""
    tempr = TemprRetriever(
        finders.embedder,
        reranker=finders.reranker,
        time_reader=_time_reader(recipe, finders, model),
        settings=recipe.recall,
    )
    single = Parts(embedder=finders.embedder, retriever=tempr, model=model, names=names, clock=clock)
    parts = single if recipe.retrieve is None else replace(single, retriever=recipe.retrieve.build(single))
    return Method(
        retriever=parts.retriever,
        consolidators=tuple(one.build(parts) for one in recipe.consolidate),
        queues=recipe.queues,
        answer=recipe.answer.build(parts),
        reflect=recipe.reflect.build(single),  # an opinion rests on items, and can be told from which it came
    )


def _time_reader(recipe: Recipe, finders: Finders, model: LanguageModel) -> TimeReader | None:
    if finders.time_reader == "model" or (finders.time_reader is None and recipe.model_reads_time):
        return LanguageTimeReader(model)
    return finders.time_reader
