"""What retain waits for: the raw commit; with ``wait``, all that comes of it. Shown by a model that is held."""

import asyncio
import re

import pytest
from hands import NOON, Clock, until

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.domain.jobs import JobState
from recollect.errors import ModelUnavailable, StoreUnavailable
from recollect.methods.hindsight.replies import (
    ExtractedFact,
    ExtractedFacts,
    ExtractedObservation,
    NamedEntity,
    Observations,
)
from recollect.models.language import Reply
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

SAID = [
    Message(text="I adopted Toby from the shelter.", speaker="Ada", at=NOON),
    Message(text="How old is he?", speaker="Bram", at=NOON),
    Message(text="Three. He loves the sea.", speaker="Ada", at=NOON),
]


def reply(prompt, answer_type):
    if answer_type is ExtractedFacts:
        ada = (NamedEntity(name="Ada", kind="person"),)
        last = int(re.findall(r"^\[(\d+)\]", prompt.text, re.MULTILINE)[-1])
        whats = ("Ada adopted Toby from a shelter.", "Toby is three years old, Ada says.", "Ada's Toby loves the sea.")
        return ExtractedFacts(
            facts=tuple(ExtractedFact(what=what, type="world", entities=ada, messages=(last,)) for what in whats)
        )
    texts = ("Ada has a dog, Toby.", "Toby is three.", "Toby loves the sea.")
    return Observations(
        observations=tuple(ExtractedObservation(text=text, facts=(n,)) for n, text in enumerate(texts, start=1))
    )


class HeldModel(FunctionModel):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__(reply)
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def generate(self, prompt, answer_type, *, check=None) -> Reply:
        self.asked.set()
        await self.let.wait()
        return await super().generate(prompt, answer_type, check=check)


@pytest.fixture
async def model():
    return HeldModel()


@pytest.fixture
async def clock():
    return Clock()


@pytest.fixture
async def bank(model, clock, tmp_path):
    memory = Memory.open(
        tmp_path,
        embedder=HashEmbedder(),
        recipe="hindsight",
        model=model,
        worker=WorkerSettings(poll_s=0.005),
        clock=clock,
    )
    async with memory:
        yield await memory.bank("ada")


async def test_retain_returns_when_the_words_are_kept_and_extraction_has_not_begun(bank, model):
    receipt = await bank.retain(SAID, session="s1")
    assert not model.asked.is_set()
    assert len(receipt.messages) == 3
    assert receipt.jobs == 1
    assert [(job.id, job.state) for job in await bank.jobs()] == [("hindsight.extract:s1", JobState.WAITING)]
    assert (await bank.recall("Toby")).evidence[0].kind is ItemKind.TURN


async def test_retain_returns_while_extraction_goes_on(bank, model, clock):
    await bank.retain(SAID[:1], session="s1")
    clock.on(60)
    await model.asked.wait()
    receipt = await bank.retain(SAID[1:], session="s1")  # would wait for ever, if it waited for the model
    assert len(receipt.messages) == 2
    assert [job.state for job in await bank.jobs()] == [JobState.RUNNING]
    assert await bank.items(ItemKind.FACT) == []
    assert len(await bank.messages()) == 3
    model.let.set()

    async def read():
        clock.on(30)
        return not await bank.jobs()

    await until(read)
    read_of = {source for fact in await bank.items(ItemKind.FACT) for source in fact.sources}
    first, _, last = await bank.messages()
    assert read_of == {first.id, last.id}, "the last of each reading"


async def test_with_wait_it_returns_when_all_jobs_are_done(bank, model):
    retaining = asyncio.create_task(bank.retain(SAID, session="s1", wait=True))
    await model.asked.wait()
    assert len(await bank.messages()) == 3, "the words are kept before the model is asked"
    for _ in range(20):
        await asyncio.sleep(0.002)
        assert not retaining.done()
    model.let.set()
    receipt = await retaining
    assert receipt.notes == ()
    assert await bank.jobs() == []
    assert len(await bank.items(ItemKind.FACT)) == 3
    assert len(await bank.observations()) == 3


async def test_with_wait_it_waits_for_what_the_background_loop_has_begun(bank, model, clock):
    await bank.retain(SAID[:1], session="s1")
    clock.on(60)
    await model.asked.wait()
    retaining = asyncio.create_task(bank.retain(SAID[1:], session="s2", wait=True))
    for _ in range(20):
        await asyncio.sleep(0.002)
        assert not retaining.done()
    model.let.set()
    assert (await retaining).notes == ()
    assert await bank.jobs() == []
    assert {fact.session for fact in await bank.items(ItemKind.FACT)} == {"s1", "s2"}


async def test_with_wait_the_receipt_says_what_is_not_done(bank, model):
    def fails(prompt, answer_type):
        raise ModelUnavailable("gone")

    model.let.set()
    model._answer = fails
    receipt = await bank.retain(SAID, session="s1", wait=True)
    assert len(receipt.messages) == 3
    assert receipt.notes == ("hindsight.extract:s1: ModelUnavailable: gone",)
    again = await bank.retain(Message(text="Hello again.", at=NOON), session="s2", wait=True)
    assert len(again.notes) == 2, "what waits since then is not done either"


async def test_an_error_after_the_words_are_kept_is_a_note(bank, monkeypatch):
    async def down(*args, **how):
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(bank._store, "claim", down)
    receipt = await bank.retain(SAID[:1], session="s1", wait=True)
    assert receipt.notes == ("StoreUnavailable: the disk is full",)
    monkeypatch.setattr(bank._work._model, "find_reached_limit", down)
    receipt = await bank.retain(SAID[1:2], session="s1")
    assert receipt.notes == ("it is not known if jobs wait: the disk is full",)
    assert len(await bank.messages()) == 2


async def test_a_dropped_bank_is_worked_on_no_more(tmp_path, model, clock):
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="hindsight", model=model, clock=clock) as memory:
        bank = await memory.bank("ada")
        await bank.retain(SAID, session="s1")
        clock.on(60)
        bank.resume_work()
        await model.asked.wait()
        await memory.drop("ada")
        assert not [task for task in asyncio.all_tasks() if task.get_name() == "recollect worker"]


async def test_closing_the_memory_ends_a_wait_with_a_word(tmp_path, model, clock):
    memory = Memory.open(tmp_path, embedder=HashEmbedder(), recipe="hindsight", model=model, clock=clock)
    bank = await memory.bank("ada")
    retaining = asyncio.create_task(bank.retain(SAID, session="s1", wait=True))
    await model.asked.wait()
    await memory.close()
    receipt = await retaining
    assert "closed" in receipt.notes[0]
    model.let.set()
    async with Memory.open(tmp_path, embedder=HashEmbedder(), recipe="hindsight", model=model, clock=clock) as memory:
        clock.on(60)
        assert await (await memory.bank("ada")).run_jobs() == ()
        assert len(await (await memory.bank("ada")).items(ItemKind.FACT)) == 3
