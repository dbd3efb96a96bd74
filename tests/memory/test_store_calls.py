"""What a question costs besides its model: one embedding, one time reading, a few calls of the store."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from inspect import iscoroutinefunction

import numpy as np
import pytest

from recollect import Interval, Memory, Message, Precision
from recollect.domain.changes import Changeset
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.triples import Triple
from recollect.methods.emem.master import MasterReply
from recollect.methods.emem.prompts import AssistantQuote, AssistantReply
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.recipes import get_recipe
from recollect.retain.encode import EncodeSettings
from recollect.retain.segments import SegmentSettings
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.text.terms import extract_terms
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
MOST = 12
UNTIMED = "What did Ada plant in her garden?"
TIMED = "What did Ada plant in her garden over Easter?"
EASTER = Interval(start=AT - timedelta(days=1), end=AT + timedelta(days=1), precision=Precision.RANGE)
MADE = (
    ItemKind.FACT,
    ItemKind.OBSERVATION,
    ItemKind.OPINION,
    ItemKind.EPISODE,
    ItemKind.SEMANTIC,
    ItemKind.GIST,
    ItemKind.TRIPLE,
)


class CountingEmbedder(HashEmbedder):
    """Counts the texts that it embeds for a question."""

    def __init__(self):
        super().__init__(256)
        self.calls = 0

    async def embed(self, texts, *, purpose="document"):
        self.calls += purpose == "query"
        return await super().embed(texts, purpose=purpose)


class CountingReader:
    """A store, or a search of one, that counts what it is asked."""

    def __init__(self, wrapped, calls):
        self._wrapped, self._calls = wrapped, calls

    def __getattr__(self, name):
        value = getattr(self._wrapped, name)
        if not iscoroutinefunction(value):
            return value

        async def counted(*args, **kwargs):
            self._calls[name] += 1
            given = await value(*args, **kwargs)
            return CountingReader(given, self._calls) if name == "search" else given

        return counted


class CountingTimeReader:
    """Reads the same time in every question, and counts how often it is asked."""

    name = "easter"

    def __init__(self):
        self.calls = 0

    async def read(self, question, now):
        self.calls += 1
        return EASTER


def cited(prompt, answer_type):
    """A sound answer that rests on the first entry, whatever the type that is asked for."""
    if answer_type is AssistantReply:
        return AssistantReply(relevant=True, quotes=(AssistantQuote(words="my garden", shows=""),), inference="")
    if answer_type is MasterReply:
        return MasterReply(trace="Quote 1 says so.", answer="Tomatoes.", abstained=False, citations=(1,))
    return answer_type(reasoning="Entry 1 says so.", answer="Tomatoes.", abstained=False, citations=(1,))


async def filled(memory, embedder):
    """A bank with some of every kind of item."""
    bank = await memory.bank("ada")
    lines = [f"I planted tomatoes in my garden, row {n}." for n in range(8)]
    said = [Message(id=f"m{n}", speaker="Ada", text=text, at=AT + timedelta(minutes=n)) for n, text in enumerate(lines)]
    await bank.retain(said, session="s")
    texts = [f"Ada planted tomatoes, as a {kind} tells." for kind in MADE]
    vectors = await embedder.embed(texts)
    entries = [entry(kind, text, vector) for kind, text, vector in zip(MADE, texts, vectors, strict=True)]
    await bank._store.commit(Changeset(items=tuple(entries)))
    return bank


def entry(kind, text, vector):
    item = Item(
        id=f"{kind}:1",
        kind=kind,
        text=text,
        session="s",
        speaker="Ada",
        sources=("m0",),
        mentioned=AT,
        recorded=AT,
        confidence=0.5,
        tokens=8,
        triple=Triple(subject="Ada", predicate="planted", object="tomatoes") if kind is ItemKind.TRIPLE else None,
    )
    return IndexedItem(item=item, vector=np.asarray(vector, dtype=np.float32), terms=extract_terms(text))


async def cost_of(recipe, question, *, model=cited, ask=None):
    """What a question costs: the answer, embeddings, time readings and store calls by their names."""
    embedder, time_reader, calls = CountingEmbedder(), CountingTimeReader(), Counter()
    async with Memory.open(
        ":memory:",
        recipe=recipe,
        embedder=embedder,
        model="none" if model is None else FunctionModel(model),
        time_reader=time_reader,
        worker=WorkerSettings(automatic=False),
        clock=lambda: AT,
    ) as memory:
        bank = await filled(memory, embedder)
        embedder.calls = 0
        bank._store = CountingReader(bank._store, calls)
        answer = await bank.ask(question)
    assert answer.evidence
    return answer, embedder.calls, time_reader.calls, calls


@pytest.mark.parametrize("recipe", ["hindsight", "recmem", "remem_single", "default", "emem"])
@pytest.mark.parametrize(("question", "readings"), [(UNTIMED, 0), (TIMED, 1)])
async def test_one_pass_embeds_once_reads_the_time_once_and_searches_once(recipe, question, readings):
    answer, embedded, read, calls = await cost_of(recipe, question)
    assert answer.text == "Tomatoes."
    assert embedded == calls["search"] == 1
    by_rules = recipe in ("remem_single", "emem")  # REMem's tools and E-mem's routing read times by rules alone
    assert read == (0 if by_rules else readings)
    assert calls.total() <= MOST, calls


@pytest.mark.parametrize("recipe", ["hindsight", "recmem", "remem_single", "default", "remem", "memr3", "emem"])
async def test_without_a_model_a_question_is_one_recall(recipe):
    answer, embedded, read, calls = await cost_of(recipe, TIMED, model=None)
    assert (answer.text, len(answer.receipt.recalls)) == ("", 1)
    assert embedded == calls["search"] == 1
    assert read == (recipe != "emem")  # which reads times by rules
    assert calls.total() <= MOST, calls


async def test_segments_that_overlap_and_a_time_in_the_question_cost_no_more():
    short = EncodeSettings(segments=SegmentSettings(length=120, overlap=60))
    recipe = replace(get_recipe("emem"), name="short", encode=partial(make_turn_encoder, settings=short))
    answer, embedded, _, calls = await cost_of(recipe, "What did Ada plant in her garden in May 2024?")
    assert answer.text == "Tomatoes."
    assert len({step.segment for step in answer.trace if step.action == "assist"}) > 1
    assert embedded == calls["search"] == calls["signals"] == calls["temporal"] == calls["segments"] == 1
    assert calls.total() <= MOST, calls
