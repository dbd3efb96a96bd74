"""REMem's agent while models, the embedder and the store fail: every fault at every call shows."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import endpoint as endpoints
import numpy as np
import pytest
from bank_under_test import Faulty
from endpoint import INVALID, KINDS, endpoint

from recollect.domain.changes import Changeset, Session
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.limits import Limit
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.queries import Query
from recollect.domain.triples import Triple
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable, NoModel, StoreUnavailable
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.conclusion import RecollectionReply
from recollect.methods.remem.planning import PlannedCall
from recollect.methods.remem.single import SinglePassResponder
from recollect.methods.remem.tool_loop import RecollectionResponder
from recollect.models.languages.metered import LedgerModel
from recollect.models.languages.unconfigured import UnconfiguredModel
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.entity_directory import DirectoryCache
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel
from recollect.text.terms import extract_terms

AT = datetime(2024, 7, 1, 12, tzinfo=UTC)
NOW = AT + timedelta(days=30)
QUESTION = "Where did Ada see the heron?"
STEP, ANSWER, SINGLE = "remem.step", "remem.answer", "remem.single"
CALLS = (STEP, STEP, STEP, ANSWER)
STEP_KINDS = tuple(kind for kind in KINDS if kind != "wrong types")  # a step's reply has no list to spoil

# A model at the endpoint that looks, explores, and answers.

_CONCLUSION = {"reasoning": "It is told.", "answer": "At the mill.", "abstained": False, "citations": [1]}


def reply_to(operation, subject, text):
    """What the model answers to a prompt; the number of the step is read from the prompt."""
    if operation in (ANSWER, SINGLE):
        return dict(_CONCLUSION)
    if "This is step 1 of" in text:
        return {"thought": "Look around.", "tool": "semantic_retrieve", "query": "heron"}
    if "This is step 2 of" in text:
        return {"thought": "All of it.", "tool": "find_entity_contexts", "subject": "Ada", "limit": 3}
    return {"thought": "Enough.", "tool": "output_answer", "answer": "At the mill."}


def spoil_step(kind, bad):
    changes = {
        "out of range": {"limit": "many"},
        "invariant": {"tool": "search_the_web"},
        "blank": {"tool": ""},
        "dangling": {"gist_id": [1]},
    }
    bad.update(changes[kind])


def spoil_answer(kind, bad):
    changes = {
        "out of range": {"citations": [99]},
        "invariant": {"citations": []},
        "blank": {"answer": " "},
        "dangling": {"citations": [0]},
    }
    bad.update(changes[kind])


@pytest.fixture
def at(monkeypatch):
    monkeypatch.setattr(endpoints, "reply_to", reply_to)
    for operation, spoil in ((STEP, spoil_step), (ANSWER, spoil_answer), (SINGLE, spoil_answer)):
        monkeypatch.setitem(endpoints._SPOILERS, operation, spoil)
    with endpoint() as running:
        yield running


class Nth(Faulty):
    """The real adapter to the endpoint; one call, by its number from 1, goes wrong."""

    def __init__(self, at, number, kind):
        super().__init__(at, {})
        self._number, self._kind, self.calls = number, kind, 0

    async def generate(self, prompt, answer_type, *, check=None):
        self.calls += 1
        if self.calls == self._number:
            self.plan = {prompt.operation: deque([self._kind])}
        return await super().generate(prompt, answer_type, check=check)


class Falling(HashEmbedder):
    """An embedder that is gone from one question on."""

    def __init__(self, number):
        super().__init__()
        self._number, self.calls = number, 0

    async def embed(self, texts, *, purpose="document"):
        self.calls += purpose == "query"
        if self.calls >= self._number:
            raise ModelUnavailable("the embedder is gone")
        return await super().embed(texts, purpose=purpose)


@dataclass(frozen=True, kw_only=True)
class Life:
    """A bank of a dozen facts on herons, and its ledger."""

    store: object

    async def answer(self, model, *, embedder=None, limits=(), builder=None, reader=None, follow=lambda _: None):
        own = embedder or HashEmbedder()
        parts = Dependencies(
            embedder=own,
            retriever=TemprRetriever(own),
            model=LedgerModel(model, self.store, limits=limits, clock=lambda: NOW),
            names=DirectoryCache(),
            clock=lambda: NOW,
        )
        responder = (builder or RecollectionResponder)(parts)
        return (await responder.respond(Query(text=QUESTION, now=NOW), reader or self.store, follow)).answer

    async def failed(self):
        return sum(cost.failed for cost in await self.store.costs())


def said(number):
    return StoredMessage(
        id=f"m{number}",
        session="s1",
        position=number,
        speaker="Ada",
        role=Role.USER,
        text=f"I saw heron {number} at the mill.",
        captions=(),
        at=AT + timedelta(minutes=number),
        recorded=AT + timedelta(days=1),
    )


def fact(number):
    return Item(
        id=f"f{number}",
        kind=ItemKind.TRIPLE,
        text=f"Ada saw heron {number} at the mill",
        session="s1",
        speaker="Ada",
        sources=(f"m{number}",),
        mentioned=AT + timedelta(minutes=number),
        recorded=AT + timedelta(days=1),
        order=number,
        triple=Triple(subject="Ada", predicate="saw", object=f"heron {number} at the mill"),
    )


@asynccontextmanager
async def lived():
    folder, embedder = SqliteFolder(":memory:"), HashEmbedder()
    store = await folder.open("memory", embedder=embedder.name, dimension=embedder.dimension)
    facts = [fact(n) for n in range(12)]
    vectors = await embedder.embed([one.text for one in facts])
    items = tuple(
        IndexedItem(item=one, vector=vector, terms=np.asarray(extract_terms(one.text), dtype=np.uint32))
        for one, vector in zip(facts, vectors, strict=True)
    )
    messages = tuple(said(n) for n in range(12))
    await store.commit(Changeset(sessions=(Session(id="s1", started=AT),), messages=messages, items=items))
    yield Life(store=store)
    await folder.close()


async def test_without_faults_it_takes_four_calls(at):
    async with lived() as life:
        answer = await life.answer(Nth(at, 0, ""))
        costs = {cost.operation: (cost.usage.calls, cost.failed) for cost in await life.store.costs()}
    assert (answer.text, answer.receipt.notes) == ("At the mill.", ())
    assert costs == {STEP: (3, 0), ANSWER: (1, 0)}


@pytest.mark.parametrize("number", [2, 3])
async def test_a_call_that_fails_after_something_was_found_ends_the_search_and_shows(at, number):
    for kind in STEP_KINDS:
        model = Nth(at, number, kind)
        async with lived() as life:
            answer = await life.answer(model)
            failed, spent = await life.failed(), await life.store.spent()
        (hit,) = model.hits
        assert (answer.text, answer.abstained, model.calls, failed) == ("At the mill.", False, number + 1, 1), kind
        told = f"{type(hit.error).__name__}: {hit.error}"
        assert answer.receipt.notes[0] == (
            f"step {number} failed, and the answer rests on what was found until then: {told}"
        )
        assert [step.action for step in answer.trace][-2:] == [STEP, "conclude"]
        assert answer.trace[-2].detail == f"failed: {told}"
        assert (answer.receipt.usage.calls, answer.receipt.usage.tokens_in) == (spent.calls, spent.tokens_in), kind


@pytest.mark.parametrize("number", [1, 4])
async def test_a_call_without_which_there_is_no_answer_is_the_callers_to_handle(at, number):
    for kind in STEP_KINDS if number == 1 else KINDS:
        model, heard = Nth(at, number, kind), []
        async with lived() as life:
            with pytest.raises(InvalidReply if kind in INVALID else ModelUnavailable) as raised:
                await life.answer(model, follow=heard.append)
            costs = {cost.operation: cost.failed for cost in await life.store.costs()}
        (hit,) = model.hits
        assert raised.value is hit.error
        assert (costs[CALLS[number - 1]], sum(costs.values()), model.calls) == (1, 1, number), kind
        assert len(heard) == number - 1


async def test_the_only_call_of_a_single_pass_is_the_callers_to_handle(at):
    for kind in KINDS:
        async with lived() as life:
            with pytest.raises(InvalidReply if kind in INVALID else ModelUnavailable):
                await life.answer(Nth(at, 1, kind), builder=SinglePassResponder)
            assert await life.failed() == 1


# The embedder and the store.

LOOK = PlannedCall(thought="", tool="semantic_retrieve", query="heron")
AGAIN = PlannedCall(thought="", tool="semantic_retrieve", query="mill")
NAMED = PlannedCall(thought="", tool="find_entity_contexts", subject="Ada")
SAID = RecollectionReply(reasoning="", answer="A heron, somewhere.", abstained=False, citations=(1,))


async def test_an_embedder_that_fails_later_ends_the_search_with_what_was_found():
    async with lived() as life:
        model = ScriptedModel([LOOK, AGAIN, SAID])
        answer = await life.answer(model, embedder=Falling(2))
    assert (answer.text, model.replies_left) == ("A heron, somewhere.", 0)
    assert answer.receipt.notes[0].endswith("until then: ModelUnavailable: the embedder is gone")
    assert answer.receipt.usage.calls == 3


async def test_nothing_found_and_nothing_looked_for_never_look_alike():
    async with lived() as life:
        for builder, replies in ((RecollectionResponder, [LOOK]), (SinglePassResponder, [])):
            with pytest.raises(ModelUnavailable, match="the embedder is gone"):
                await life.answer(ScriptedModel(replies), embedder=Falling(1), builder=builder)


async def test_what_needs_no_embedder_goes_on_without_one():
    async with lived() as life:
        over = PlannedCall(thought="", tool="output_answer", answer="somewhere")
        answer = await life.answer(ScriptedModel([NAMED, over, SAID]), embedder=Falling(1))
    assert (answer.text, len(answer.evidence)) == ("A heron, somewhere.", 12)


class Locked:
    """A bank whose triples cannot be read."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def count_triples(self, pattern, scope, aggregation):
        raise StoreUnavailable("locked")


async def test_a_store_that_fails_is_never_taken_for_an_empty_one():
    async with lived() as life:
        with pytest.raises(StoreUnavailable):
            await life.answer(ScriptedModel([LOOK, NAMED]), reader=Locked(life.store))


# Limits, no model, cancellation.


async def test_past_a_limit_no_call_is_made_and_the_limit_is_told():
    async with lived() as life:
        model = ScriptedModel([LOOK, SAID])
        with pytest.raises(LimitReached):
            await life.answer(model, limits=[Limit(tokens=1)])
        assert (model.prompts, await life.failed()) == ([], 0)


async def test_what_a_limit_still_allows_is_concluded_from_what_was_found():
    model = FunctionModel(lambda prompt, kind: LOOK if kind is PlannedCall else SAID)
    async with lived() as life:
        answer = await life.answer(model, limits=[Limit(tokens=3000)])
        spent = await life.store.spent()
    assert [prompt.operation for prompt in model.prompts] == [STEP, ANSWER]
    assert answer.text == "A heron, somewhere."
    assert "step 2 failed" in answer.receipt.notes[0]
    assert "LimitReached" in answer.receipt.notes[0]
    assert spent.calls == 2


async def test_where_a_limit_leaves_no_room_for_an_answer_it_is_told():
    model = FunctionModel(lambda prompt, kind: LOOK if kind is PlannedCall else SAID)
    async with lived() as life:
        with pytest.raises(LimitReached):
            await life.answer(model, limits=[Limit(tokens=2000)])
        assert (await life.store.spent()).calls == len(model.prompts) == 1


async def test_without_a_model_nothing_is_invented():
    async with lived() as life:
        for builder in (RecollectionResponder, SinglePassResponder):
            with pytest.raises(NoModel):
                await life.answer(UnconfiguredModel(), builder=builder)
        assert await life.store.costs() == []


async def test_a_cancelled_question_leaves_only_what_it_has_cost():
    reached = asyncio.Event()

    class Hanging(ScriptedModel):
        async def generate(self, prompt, answer_type, *, check=None):
            if len(self.prompts) == 1:
                reached.set()
                await asyncio.Event().wait()
            return await super().generate(prompt, answer_type, check=check)

    async with lived() as life:
        task = asyncio.create_task(life.answer(Hanging([LOOK])))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await life.failed(), (await life.store.spent()).calls) == (1, 2)
