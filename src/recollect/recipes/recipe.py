"""A recipe, and the models for the search of a memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from recollect.methods.dependencies import Factory, LazyFactory
from recollect.models.embedder import Embedder
from recollect.models.reranker import Reranker
from recollect.models.time_reader import TimeReader
from recollect.ports import Beliefs, Calibrator, Consolidator, Encoder, MakeTools, Responder, Retriever
from recollect.recall.settings import RecallSettings

OwnModel = Literal["model"]


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
    encode: Factory[Encoder] = LazyFactory("recollect.methods.turn_encoder:make_turn_encoder")
    recall: RecallSettings = field(default_factory=RecallSettings)
    retrieve: Factory[Retriever] | None = None
    model_reads_time: bool = False
    consolidate: tuple[Factory[Consolidator], ...] = ()
    has_background_work: bool = True
    answer: Factory[Responder] = LazyFactory("recollect.methods.hindsight.answerer:Answerer")
    answers_with_model: bool = True
    reflect: Factory[Responder] = LazyFactory("recollect.methods.hindsight.reflector:Reflector")
    tools: Factory[MakeTools] | None = LazyFactory("recollect.methods.remem.tools:offer_tools")
    beliefs: Factory[Beliefs] | None = LazyFactory("recollect.methods.hindsight.beliefs:OpinionBeliefs")
    calibrator: Factory[Calibrator] | None = LazyFactory("recollect.methods.recmem.calibration:RecurrenceCalibrator")

    def load_parts(self) -> None:
        """Import the modules of the parts that store, search and consolidate."""
        for part in (self.encode, self.retrieve, *self.consolidate):
            if isinstance(part, LazyFactory):
                part.load()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchModels:
    """The models for the search of a memory.

    ``time_reader`` reads times in questions that the rules cannot read. ``"model"`` means the bank's own language
    model.
    """

    embedder: Embedder
    reranker: Reranker | None = None
    time_reader: TimeReader | OwnModel | None = None
