"""What was read from a forgotten message and others together goes; the others are read again, and nothing twice."""

from datetime import UTC, datetime, timedelta

import pytest
from reading_model import IRIS, reading_model, reply

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.domain.jobs import JobState
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
NOW = AT + timedelta(days=1)
SAID = ("Ada adopted Toby.", "And he came from Leeds.", "Ben bought a van.", "And Ada drove it!", "Toby sleeps.")


def opened(folder=":memory:", **how):
    how = {"recipe": "hindsight", "model": reading_model(), **how}
    settings = WorkerSettings(concurrency=1, automatic=False)
    return Memory.open(folder, embedder=HashEmbedder(), worker=settings, clock=lambda: NOW, **how)


def said(texts=SAID):
    return [Message(id=f"m{n}", text=t, speaker="Ada", at=AT + timedelta(minutes=n)) for n, t in enumerate(texts)]


@pytest.fixture
async def bank():
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(), session="s", wait=True)
        yield bank


async def told(bank, **how):
    """Facts as texts, with the messages they came from."""
    return {item.text: item.sources for item in await bank._store.items_of([ItemKind.FACT], **how)}


async def test_what_is_left_of_a_torn_fact_is_read_again(bank):
    first = {
        "Ada adopted Toby. And he came from Leeds.": ("m0", "m1"),
        "Ben bought a van. And Ada drove it!": ("m2", "m3"),
        "And Ada drove it!": ("m3",),
        "Toby sleeps.": ("m4",),
    }
    assert await told(bank) == first
    receipt = await bank.forget(messages="m0")
    assert (receipt.verified, receipt.jobs) == (True, 0)
    (job,) = [job for job in await bank.jobs() if job.id.startswith("hindsight.extract")]
    assert (job.id, job.state, job.messages) == ("hindsight.extract:s", JobState.WAITING, ("m1",))
    del first["Ada adopted Toby. And he came from Leeds."]
    assert await told(bank) == first
    assert await bank.run_jobs() == ()
    assert await told(bank) == first | {"And he came from Leeds.": ("m1",)}


async def test_what_was_read_from_it_alone_is_not_told_twice(bank):
    """m3 is read again, and gives the fact anew that it had given by itself."""
    before = {item.text: item.id for item in await bank.items(ItemKind.FACT)}
    await bank.forget(messages="m2")
    await bank.run_jobs()
    facts = [item for item in await bank._store.items_of([ItemKind.FACT], superseded=True) if "drove" in item.text]
    assert sorted((item.superseded is None, item.sources) for item in facts) == [(False, ("m3",)), (True, ("m3",))]
    (old,) = [item.id for item in facts if item.superseded is not None]
    assert old == before["And Ada drove it!"]
    assert {item.id for item in await bank.items(ItemKind.FACT)} >= {before["Toby sleeps."]}


@pytest.mark.parametrize(
    ("gone", "stays"),
    [
        ("m2", {"Ada rose. And Ben left!": ("m0", "m1")}),  # mostly of m0, which is shown, but was read before
        ("m0", {"And Ben left! And Toby slept.": ("m1", "m2")}),  # m2 is not even shown
    ],
)
async def test_a_fact_that_came_from_another_message_as_well_stays(gone, stays):
    async with opened() as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(("Ada rose.", "And Ben left!", "And Toby slept.")), session="s", wait=True)
        first = {"Ada rose. And Ben left!": ("m0", "m1"), "And Ben left! And Toby slept.": ("m1", "m2")}
        assert await told(bank) == first
        await bank.forget(messages=gone)
        assert await told(bank) == stays
        await bank.run_jobs()
        assert await told(bank) == stays | {"And Ben left!": ("m1",)}


async def test_what_stays_of_what_an_observation_rested_on_is_observed_again():
    """Observations rest on the first fact, the last or all: forgetting one must not leave the others unobserved."""
    async with opened() as memory:
        bank = await memory.bank("bank")
        for n in range(5):
            await bank.retain(Message(id=f"m{n}", text=f"Toby did thing {n}.", at=AT), session=f"s{n}", wait=True)
        before = await bank.observations(entity="Toby")
        assert {origin for one in before for origin in one.derived_from} == {f.id for f in await bank.items("fact")}
        await bank.forget(messages="m2")
        jobs = {job.id: job for job in await bank.jobs()}
        (observing,) = jobs
        assert observing.startswith("hindsight.observe:"), "the facts are not new to anybody's opinions"
        assert "m2" not in jobs[observing].messages
        assert await bank.run_jobs() == ()
        after = await bank.observations(entity="Toby")
        assert len(after) == len(before)
        assert {origin for one in after for origin in one.derived_from} == {f.id for f in await bank.items("fact")}
        assert {source for one in after for source in one.sources} == {"m0", "m1", "m3", "m4"}


async def test_later_steps_of_an_opinion_are_weighed_again_when_one_before_them_goes(bank):
    await bank.reflect("What did Ada adopt?", kinds=["fact"], limit=1)
    for n, text in enumerate(("Ada walked Toby.", "Ada fed Toby.", "Toby bites.")):
        at = AT + timedelta(hours=n + 1)
        await bank.retain(Message(id=f"n{n}", text=text, at=at), session=f"t{n}", wait=True)
    (opinion,) = await bank.opinions()
    assert [step.assessment for step in opinion.steps] == ["formed", "reinforce", "reinforce", "contradict"]
    await bank.forget(messages="n0")
    (opinion,) = await bank.opinions()
    assert [step.assessment for step in opinion.steps] == ["formed"]
    assert await bank.run_jobs() == ()
    (opinion,) = await bank.opinions()
    assert [step.assessment for step in opinion.steps] == ["formed", "reinforce", "contradict"]
    facts = {fact.id: fact.sources for fact in await bank.items(ItemKind.FACT)}
    assert [facts[step.evidence[0]] for step in opinion.steps[1:]] == [("n1",), ("n2",)]
    assert await bank.jobs() == []


async def test_nothing_is_made_anew_where_nothing_rested_on_what_goes(bank):
    before = {item.id for item in await bank.observations()}
    await bank.retain(Message(id="m9", text="It rained.", at=AT), session="t", wait=True)
    await bank.forget(messages="m9")
    assert await bank.jobs() == []
    assert {item.id for item in await bank.observations()} == before


async def test_everything_that_rested_on_it_goes_however_far_away(bank):
    await bank.set_profile(IRIS)
    answer = await bank.reflect("What did Ada adopt?", kinds=["fact"], limit=1)
    (opinion,) = await bank.opinions()
    assert answer.opinions == (opinion.id,)
    await bank.retain(Message(id="m9", text="Ada walked Toby.", at=AT + timedelta(hours=9)), session="t", wait=True)
    (opinion,) = await bank.opinions()
    assert [step.assessment for step in opinion.steps] == ["formed", "reinforce"]
    assert {"m0", "m1", "m9"} == set(opinion.sources)
    observed = await bank.observations(entity="Toby")
    torn = next(item.id for item in await bank.items(ItemKind.FACT) if item.sources == ("m0", "m1"))
    assert any(torn in item.derived_from for item in observed)
    receipt = await bank.forget(messages="m1")
    assert receipt.verified
    assert await bank.opinions() == []
    assert await bank._store.items_of([ItemKind.OPINION], superseded=True) == []
    there = {item.id for item in await bank._store.items_of(tuple(ItemKind), superseded=True)}
    for item in await bank._store.items_of(tuple(ItemKind), superseded=True):
        assert there.issuperset(item.derived_from)
    assert await bank.profile() == IRIS
    await bank.run_jobs()
    observed = await bank.observations(entity="Toby")
    again = next(item.id for item in await bank.items(ItemKind.FACT) if item.sources == ("m0",))
    assert any(again in item.derived_from for item in observed), "who it is about is observed anew"


class Meddler(FunctionModel):
    """While it reads for the first time, somebody forgets."""

    meddle = None

    async def generate(self, prompt, answer_type, *, check=None):
        answer = await super().generate(prompt, answer_type, check=check)
        if self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            await meddle()
        return answer


async def test_what_is_forgotten_while_it_is_being_read_is_not_remembered_and_the_rest_is_read():
    model = Meddler(reply)
    async with opened(model=model) as memory:
        bank = await memory.bank("bank")
        receipts = []

        async def meddle():
            receipts.append(await bank.forget(messages="m0"))

        model.meddle = meddle
        await bank.retain(said(SAID[:3]), session="s", wait=True)
        assert [receipt.jobs for receipt in receipts] == [1]
        assert await told(bank, superseded=True) == {"And he came from Leeds.": ("m1",), SAID[2]: ("m2",)}
        assert [prompt.subject for prompt in model.prompts[:2]] == ["s#0", "s#1"]
        assert "adopted" not in model.prompts[1].text
        assert await bank.jobs() == []


async def test_without_a_model_the_rest_waits_and_without_a_reader_there_is_nothing_to_wait_for(tmp_path):
    async with opened(tmp_path) as memory:
        await (await memory.bank("bank")).retain(said(), session="s", wait=True)
    async with opened(tmp_path, recipe="tempr") as memory:
        bank = await memory.bank("bank")
        assert (await bank.forget(messages="m2")).verified
        assert await bank.jobs() == []
    async with opened(tmp_path, model="none") as memory:
        bank = await memory.bank("bank")
        assert (await bank.forget(messages="m1")).verified
        assert [(job.state, job.messages) for job in await bank.jobs()] == [(JobState.WAITING, ("m0",))]
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        await bank.run_jobs()
        assert (await told(bank))["Ada adopted Toby."] == ("m0",)
