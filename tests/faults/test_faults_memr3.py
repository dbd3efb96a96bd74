"""MemR3's loop while models and retrievals fail: every fault at every call shows in the receipt and in the ledger."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import endpoint as endpoints
import pytest
from bank_under_test import Faulty
from endpoint import INVALID, KINDS, endpoint

from recollect import Message
from recollect.domain.limits import Limit
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmStatus
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable, NoModel, RecallFailed
from recollect.methods.dependencies import Dependencies
from recollect.methods.memr3.answer import ConclusionReply, LoopResponder
from recollect.methods.memr3.trace import Finding, Gap, get_loop
from recollect.methods.memr3.tracker import GenerationReply
from recollect.models.languages.metered import LedgerModel
from recollect.models.languages.unconfigured import UnconfiguredModel
from recollect.recall.pipeline import TemprRetriever
from recollect.recall.settings import RecallSettings
from recollect.retain.encode import TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel

AT = datetime(2024, 7, 1, 12, tzinfo=UTC)
NOW = AT + timedelta(days=30)
QUESTION = "Where did Ada see the heron?"
GENERATE, ANSWER = "memr3.generate", "memr3.answer"
CALLS = (GENERATE, GENERATE, GENERATE, ANSWER)
FIRST, SECOND = "Ada saw a heron.", "The heron stood at the mill."


# A model at the endpoint that retrieves once more, reflects, and answers.


def reply_to(operation, subject, text):
    """What the model answers to a prompt; the number of the call is read from the prompt."""
    if operation == ANSWER:
        return {"reasoning": "It is told.", "answer": "At the mill.", "abstained": False, "citations": [1]}
    evidence = [{"fact": FIRST, "snippets": [1]}]
    if FIRST in text:
        evidence.append({"fact": SECOND, "snippets": [6]})
    reply = {"evidence": evidence, "gaps": [], "query": "", "reasoning": "", "draft": ""}
    if "<reasoning>" in text:
        return {**reply, "decision": "answer", "draft": "At the mill."}
    if FIRST in text:
        return {**reply, "decision": "reflect", "reasoning": "The two belong together."}
    return {**reply, "decision": "retrieve", "query": "heron mill", "gaps": [{"missing": "the place", "finer": False}]}


def spoil_generated(kind, bad):
    if kind == "invariant":  # a decision without its content
        bad.update(query="", reasoning=" ", draft="")
    changes = {"out of range": {"snippets": [99]}, "blank": {"fact": " "}, "dangling": {"snippets": []}}
    bad["evidence"][-1].update(changes.get(kind, {}))


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
    monkeypatch.setitem(endpoints._SPOILERS, GENERATE, spoil_generated)
    monkeypatch.setitem(endpoints._SPOILERS, ANSWER, spoil_answer)
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


@dataclass(frozen=True, kw_only=True)
class Life:
    """A bank of a dozen messages on a heron, and its ledger."""

    store: object
    retriever: object

    async def answered(self, model, *, retriever=None, limits=(), follow=lambda _: None):
        parts = Dependencies(
            embedder=HashEmbedder(),
            retriever=retriever or self.retriever,
            model=LedgerModel(model, self.store, limits=limits, clock=lambda: NOW),
            names=DirectoryCache(),
            clock=lambda: NOW,
        )
        asked = Query(text=QUESTION, now=NOW)
        return await LoopResponder(parts).answer(asked, self.store, follow)

    async def failed(self):
        return sum(cost.failed for cost in await self.store.costs())


@asynccontextmanager
async def lived():
    folder, embedder = SqliteFolder(":memory:"), HashEmbedder()
    store = await folder.open("memory", embedder=embedder.name, dimension=embedder.dimension)
    said = [
        Message(id=f"m{n}", text=f"Heron number {n} stood at the mill.", speaker="Ada", at=AT + timedelta(minutes=n))
        for n in range(12)
    ]
    await store.commit(await TurnEncoder(embedder).encode(said, session="s1", reader=store, now=AT + timedelta(days=1)))
    yield Life(store=store, retriever=TemprRetriever(embedder))
    await folder.close()


async def test_without_faults_it_takes_four_calls(at):
    async with lived() as life:
        answer = await life.answered(Nth(at, 0, ""))
        costs = {cost.operation: (cost.usage.calls, cost.failed) for cost in await life.store.costs()}
    assert (answer.text, answer.receipt.notes) == ("At the mill.", ())
    assert costs == {GENERATE: (3, 0), ANSWER: (1, 0)}


@pytest.mark.parametrize("number", [2, 3])
async def test_a_call_that_fails_after_there_is_evidence_ends_the_loop_and_shows(at, number):
    for kind in KINDS:
        model = Nth(at, number, kind)
        async with lived() as life:
            answer = await life.answered(model)
            failed, spent = await life.failed(), await life.store.spent()
        (hit,) = model.hits
        assert (answer.text, answer.abstained, model.calls, failed) == ("At the mill.", False, number + 1, 1), kind
        told = f"{type(hit.error).__name__}: {hit.error}"
        assert answer.receipt.notes == (
            f"iteration {number} failed, and the answer rests on what was known until then: {told}",
        )
        last = get_loop(answer).rounds[-1]
        assert (last.number, last.failure, last.decision, get_loop(answer).end_reason) == (number, told, None, None)
        assert last.after == last.before
        assert [one.fact for one in last.after.evidence] == [FIRST, SECOND][: number - 1]
        assert answer.trace[-2].action == "generate"
        assert (answer.receipt.usage.calls, answer.receipt.usage.tokens_in) == (spent.calls, spent.tokens_in), kind


@pytest.mark.parametrize("number", [1, 4])
async def test_a_call_without_which_there_is_no_answer_is_the_callers_to_handle(at, number):
    for kind in KINDS:
        model, heard = Nth(at, number, kind), []
        async with lived() as life:
            with pytest.raises(InvalidReply if kind in INVALID else ModelUnavailable) as raised:
                await life.answered(model, follow=heard.append)
            costs = {cost.operation: cost.failed for cost in await life.store.costs()}
        (hit,) = model.hits
        assert raised.value is hit.error
        assert (costs[CALLS[number - 1]], sum(costs.values()), model.calls) == (1, 1, number), kind
        assert [one.number for one in heard] == list(range(number))


# Retrievals.

KNOWN = Finding(fact=FIRST, snippets=(1,))
MORE = GenerationReply(evidence=(KNOWN,), gaps=(Gap(missing="the place"),), decision="retrieve", query="mill")
BLIND = replace(MORE, evidence=())
SAID = ConclusionReply(reasoning="", answer="A heron, somewhere.", abstained=False, citations=(1,))


class Falling:
    """A retriever that fails from one call on, in one way."""

    def __init__(self, retriever, number, error):
        self._retriever, self._number, self._error, self.calls = retriever, number, error, 0

    async def retrieve(self, query, reader):
        self.calls += 1
        if self.calls >= self._number:
            raise self._error
        return await self._retriever.retrieve(query, reader)


DOWN = (RecallFailed("no arm answered"), ModelUnavailable("the embedder is gone"))


@pytest.mark.parametrize("error", DOWN)
async def test_a_retrieval_that_fails_ends_the_loop_with_what_is_known(error):
    async with lived() as life:
        model = ScriptedModel([MORE, MORE, SAID])
        answer = await life.answered(model, retriever=Falling(life.retriever, 3, error))
    last = get_loop(answer).rounds[-1]
    assert (answer.text, len(answer.evidence), model.replies_left) == ("A heron, somewhere.", 10, 0)
    assert answer.receipt.notes == (
        f"iteration 2 failed, and the answer rests on what was known until then: {type(error).__name__}: {error}",
    )
    assert (last.decision, last.query, last.snippets) == ("retrieve", f"{QUESTION} mill", ())
    assert last.failure in answer.trace[-2].detail
    assert answer.trace[-2].detail.startswith("missing: the place; could not retrieve: ")


@pytest.mark.parametrize("error", DOWN)
@pytest.mark.parametrize(("number", "replies"), [(1, ()), (2, (BLIND,))])
async def test_nothing_found_and_nothing_looked_for_never_look_alike(number, replies, error):
    async with lived() as life:
        with pytest.raises(type(error)):
            await life.answered(ScriptedModel(replies), retriever=Falling(life.retriever, number, error))


async def test_arms_that_time_out_are_noted():
    """An arm that is down is told, also where the others have found enough."""

    class Slow(TemprRetriever):
        async def retrieve(self, query, reader):
            found = await super().retrieve(query, reader)
            first, *rest = found.receipt.arms
            limp = replace(first, status=ArmStatus.TIMEOUT, note="no answer within 5 s")
            return replace(found, receipt=replace(found.receipt, arms=(limp, *rest)))

    async with lived() as life:
        settled = GenerationReply(evidence=(KNOWN,), gaps=(), decision="answer", draft="Somewhere.")
        slow = Slow(HashEmbedder(), settings=RecallSettings())
        answer = await life.answered(ScriptedModel([settled, SAID]), retriever=slow)
    assert answer.receipt.notes == ("the semantic arm of the recall did not answer (timeout): no answer within 5 s",)


# Limits, no model, cancellation.


async def test_past_a_limit_no_call_is_made_and_the_limit_is_told():
    async with lived() as life:
        model = ScriptedModel([MORE, MORE, SAID])
        with pytest.raises(LimitReached):
            await life.answered(model, limits=[Limit(tokens=1)])
        assert (model.prompts, await life.failed()) == ([], 0)
        model = FunctionModel(lambda prompt, kind: MORE)
        with pytest.raises(LimitReached):
            await life.answered(model, limits=[Limit(tokens=2650)])
        spent = await life.store.spent()
    assert 0 < spent.calls == len(model.prompts)


async def test_without_a_model_nothing_is_invented():
    async with lived() as life:
        with pytest.raises(NoModel):
            await life.answered(UnconfiguredModel())
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
        task = asyncio.create_task(life.answered(Hanging([MORE])))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await life.failed(), (await life.store.spent()).calls) == (1, 2)
