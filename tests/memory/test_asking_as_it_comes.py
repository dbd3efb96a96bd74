"""Following an answer: what is done is given when it is over, the answer last; leaving it stops the work."""

import asyncio
import threading
from contextlib import aclosing
from datetime import UTC, datetime

import pytest

from recollect import Answer, Memory, Message, sync
from recollect.errors import InvalidInput, ModelUnavailable, StoreError
from recollect.methods.memr3.answer import ConclusionReply
from recollect.methods.memr3.trace import Finding, LoopConclusion, LoopRound, get_loop
from recollect.methods.memr3.tracker import GenerationReply
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel

AT = datetime(2024, 5, 1, tzinfo=UTC)
ASKED = "Who is Toby?"
KNOWN = (Finding(fact="Toby is a dog.", snippets=(1,)),)
AGAIN = GenerationReply(evidence=KNOWN, gaps=(), decision="retrieve", query="Toby dog")
REFLECT = GenerationReply(evidence=KNOWN, gaps=(), decision="reflect", reasoning="A dog it is.")
SETTLE = GenerationReply(evidence=KNOWN, gaps=(), decision="answer", draft="A dog.")
DONE = ConclusionReply(reasoning="It says so.", answer="A dog.", abstained=False, citations=(1,))


def memory(model, recipe="memr3"):
    return Memory.open(":memory:", embedder=HashEmbedder(), model=model, recipe=recipe)


async def filled(opened):
    bank = await opened.bank("ada")
    texts = ("Toby is a dog.", "I adopted Toby.", "He sleeps.", "He eats.", "He barks.", "He runs.", "He digs.")
    await bank.retain([Message(text=text, speaker="Ada", at=AT) for text in texts], session="s")
    return bank


async def test_iterations_come_one_by_one_and_the_answer_last():
    model = ScriptedModel([AGAIN, REFLECT, SETTLE, DONE])
    async with memory(model) as opened:
        bank = await filled(opened)
        asked, events = [], []
        async for event in bank.ask_stream(ASKED):
            asked.append(len(model.prompts))
            events.append(event)
    *rounds, end, answer = events
    assert isinstance(answer, Answer)
    assert (*rounds, end) == answer.trace
    assert end == get_loop(answer).conclusion
    assert [one.number for one in rounds] == [0, 1, 2, 3]
    assert (answer.text, asked[-1]) == ("A dog.", 4)


async def test_what_is_told_does_not_wait_for_what_comes_after():
    """The second generation never ends; what came before it is there all the same."""
    gate = asyncio.Event()

    class Halting(ScriptedModel):
        async def generate(self, prompt, answer_type, *, check=None):
            if self.prompts:
                await gate.wait()
            return await super().generate(prompt, answer_type, check=check)

    model = Halting([AGAIN, SETTLE, DONE])
    async with memory(model) as opened:
        bank = await filled(opened)
        async with aclosing(bank.ask_stream(ASKED)) as events:
            assert [(await anext(events)).number for _ in range(2)] == [0, 1]
            assert len(model.prompts) == 1
            gate.set()
            assert [type(event) async for event in events] == [LoopRound, LoopConclusion, Answer]


@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_leaving_it_stops_the_work(how):
    begun, stopped = asyncio.Event(), asyncio.Event()

    class Endless(ScriptedModel):
        async def generate(self, prompt, answer_type, *, check=None):
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    async with memory(Endless([])) as opened:
        bank = await filled(opened)
        before = asyncio.all_tasks()
        events = bank.ask_stream(ASKED)
        assert (await anext(events)).number == 0
        if how == "closed":
            await begun.wait()
            await events.aclose()
        else:
            reading = asyncio.create_task(anext(events))
            await begun.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        assert stopped.is_set()
        assert asyncio.all_tasks() == before


async def test_errors_come_where_it_is_read():
    async with memory(ScriptedModel([ModelUnavailable("it is down")])) as opened:
        bank = await filled(opened)
        events = bank.ask_stream(ASKED)
        assert (await anext(events)).number == 0
        with pytest.raises(ModelUnavailable, match="it is down"):
            await anext(events)
        for wrong in ({"recipe": "stew"}, {"limit": 0}):
            with pytest.raises(InvalidInput):
                await anext(bank.ask_stream(ASKED, **wrong))


def by_type(prompt, answer_type):
    """What one-call recipes ask for."""
    said = {"reasoning": "So it says.", "answer": "A dog.", "abstained": False, "citations": (1,)}
    return answer_type(**said)


@pytest.mark.parametrize("recipe", ["hindsight", "recmem", "default", "tempr"])
async def test_every_recipe_can_be_followed(recipe):
    async with memory(FunctionModel(by_type), recipe) as opened:
        bank = await filled(opened)
        *steps, answer = [event async for event in bank.ask_stream(ASKED)]
    assert (answer.text, get_loop(answer)) == ("A dog.", None)
    assert steps
    assert tuple(steps) == answer.trace


async def test_without_a_model_the_evidence_comes():
    async with memory("none") as opened:
        bank = await filled(opened)
        *steps, answer = [event async for event in bank.ask_stream(ASKED)]
    assert isinstance(answer, Answer)
    assert answer.evidence
    assert tuple(steps) == answer.trace


def test_it_is_followed_without_await_as_it_comes():
    model = ScriptedModel([AGAIN, SETTLE, DONE])
    with sync.Memory.open(":memory:", embedder=HashEmbedder(), model=model, recipe="memr3") as opened:
        bank = opened.bank("ada")
        bank.retain([Message(text=f"Toby is a dog, {n}.", speaker="Ada", at=AT) for n in range(9)], session="s")
        events = bank.ask_stream(ASKED)
        assert next(events).number == 0
        assert model.replies_left >= 1
        *rounds, _, answer = events
        assert (len(rounds), answer.text, model.replies_left) == (2, "A dog.", 0)
        left = bank.ask_stream(ASKED)
        assert next(left).number == 0
        left.close()


def test_what_was_left_is_stopped_and_paid_for_before_the_memory_closes(tmp_path, caplog):
    begun = threading.Event()

    class Endless(ScriptedModel):
        async def generate(self, prompt, answer_type, *, check=None):
            begun.set()
            await asyncio.Event().wait()

    opened = sync.Memory.open(tmp_path, embedder=HashEmbedder(), model=Endless([]), recipe="memr3")
    bank = opened.bank("ada")
    bank.retain([Message(text="Toby is a dog.", speaker="Ada", at=AT)], session="s")
    left = bank.ask_stream(ASKED)
    assert next(left).number == 0
    assert begun.wait(60)
    opened.close()
    with pytest.raises(StoreError, match="the memory is closed"):
        next(left)
    assert caplog.records == []
    with sync.Memory.open(tmp_path, embedder=HashEmbedder()) as again:
        assert [(cost.operation, cost.usage.calls) for cost in again.bank("ada").costs()] == [("memr3.generate", 1)]
