"""A bank with everything that Hindsight makes goes out as lines and comes in again the same."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from reading_model import IRIS, reading_model

from recollect import Memory, Message
from recollect.domain.banks import Disposition, Profile
from recollect.domain.items import ItemKind
from recollect.errors import InvalidInput, MalformedLine
from recollect.testing.models import HashEmbedder
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
PROFILE = Profile(name="Iris", background=IRIS.background, disposition=Disposition(empathy=5, bias_strength=0.25))
SESSIONS = (
    ("Ada adopted Toby.", "And he came from Leeds.", "Ada is glad because Toby is there.", "Ben met Toby."),
    ("Ada walked Toby in Leeds.", "Ben met Ada."),
    ("Toby bites.", "Ben left because Toby bites."),
)


class Clock:
    now = AT

    def __call__(self):
        return self.now


def opened(folder, clock=None):
    return Memory.open(
        folder,
        embedder=HashEmbedder(),
        recipe="hindsight",
        model=reading_model(),
        worker=WorkerSettings(concurrency=1, automatic=False),
        clock=clock or Clock(),
    )


async def fill(bank, clock):
    """Facts, causes, observations of two generations, an opinion that was formed, reinforced and contradicted."""
    await bank.set_profile(PROFILE)
    for day, texts in enumerate(SESSIONS):
        clock.now = AT + timedelta(days=day)
        said = [Message(id=f"m{day}{n}", text=text, speaker="Ada", at=clock.now) for n, text in enumerate(texts)]
        await bank.retain(said, session=f"s{day}", wait=True)
        if not day:
            await bank.reflect("What did Ada adopt?", kinds=["fact"], limit=1)
    clock.now = AT + timedelta(days=9)


async def lines_of(bank):
    return [line async for line in bank.export()]


async def all_of(bank):
    """Everything that can be read of a bank, history included."""
    store = bank._store
    items = await store.items_of(tuple(ItemKind), superseded=True)
    return {
        "items": items,
        "mentions": await store.mentions_of([item.id for item in items]),
        "entities": await store.entities(),
        "opinions": await bank.opinions(),
        "observations": await bank.observations(),
        "profile": await bank.profile(),
        "links": (await bank.info()).links_by_kind,
        "recalled": [await recalled(bank, as_of=moment) for moment in (None, AT + timedelta(hours=1))],
    }


async def recalled(bank, **scope):
    found = await bank.recall("Does Toby do Ada good in Leeds?", limit=30, max_tokens=None, **scope)
    assert found.receipt.complete
    return [(one.id, one.text, one.sources, pytest.approx(one.score, abs=1e-4)) for one in found.evidence]


async def test_a_hindsight_bank_comes_in_the_same(tmp_path):
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank, clock)
        (opinion,) = await bank.opinions()
        assert [step.assessment for step in opinion.steps] == ["formed", *["reinforce"] * 2, *["contradict"] * 2]
        before = await all_of(bank)
        superseded = {item.kind for item in before["items"] if item.superseded is not None}
        assert superseded == {ItemKind.OPINION, ItemKind.OBSERVATION}
        assert before["links"]["causal"] == 2
        lines = await lines_of(bank)
        await copy.import_(lines)
        assert await all_of(copy) == before
        assert (await copy.profile()).disposition.empathy == 5
        assert (await lines_of(copy))[1:] == lines[1:]
        # What took the place of what came along: where it goes, the one before holds again.
        for one in (bank, copy):
            assert (await one.forget(session="s2")).verified
        assert await all_of(copy) == await all_of(bank)
        (opinion,) = await copy.opinions()
        assert [step.assessment for step in opinion.steps] == ["formed", *["reinforce"] * 2]


async def test_what_is_still_to_be_done_goes_along(tmp_path):
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        said = [Message(id=f"m{n}", text=text, speaker="Ada", at=AT) for n, text in enumerate(SESSIONS[0])]
        await bank.retain(said[:2], session="a")
        await bank.retain(said[2:], session="b")
        claimed = await bank._store.claim(["hindsight.extract"], "w", AT, 60, ignore_schedule=True)
        await bank._store.settle(claimed, error="no JSON", reply="{", now=AT)
        assert sorted(job.state for job in await bank.jobs()) == ["dead", "waiting"]
        lines = await lines_of(bank)
        (line,) = [json.loads(line) for line in lines if '"hindsight.extract:b"' in line]
        assert line == {
            "type": "job",
            "id": "hindsight.extract:b",
            "kind": "hindsight.extract",
            "payload": "b",
            "messages": ["m2", "m3"],
            "due": (AT + timedelta(seconds=20)).isoformat(),
        }
        await copy.import_(lines)
        jobs = {job.id: (job.state, job.attempts, job.error, job.messages) for job in await copy.jobs()}
        assert jobs == {
            "hindsight.extract:a": ("waiting", 0, None, ("m0", "m1")),
            "hindsight.extract:b": ("waiting", 0, None, ("m2", "m3")),
        }
        assert await copy.run_jobs() == ()
        assert {source for fact in await copy.items("fact") for source in fact.sources} == {"m0", "m1", "m2", "m3"}


async def test_a_bank_filled_under_another_recipe_is_read_on_request_once(tmp_path):
    clock = Clock()
    async with Memory.open(tmp_path, embedder=HashEmbedder(), clock=clock) as memory:
        bank = await memory.bank("bank")
        for n in range(2):
            await bank.retain(Message(id=f"m{n}", text=f"Toby did thing {n}.", at=AT), session=f"s{n}")
        assert await bank.backfill() == 0, "its recipe reads nothing"
    async with opened(tmp_path, clock) as memory:
        bank = await memory.bank("bank")
        await bank.retain(Message(id="m2", text="Toby slept.", at=AT), session="s2")
        assert await bank.backfill() == 2, "of the third there is a job already"
        queued = await bank.jobs()
        assert {job.id: job.messages for job in queued} == {f"hindsight.extract:s{n}": (f"m{n}",) for n in range(3)}
        assert await bank.backfill() == 0
        assert await bank.jobs() == queued
        assert await bank.run_jobs() == ()
        assert len(await bank.items("fact")) == 3
        assert await bank.backfill() == 0
        await bank.retain(Message(id="m3", text="Ada slept.", at=AT), session="s3")
        claimed = await bank._store.claim(["hindsight.extract"], "w", AT, 60, ignore_schedule=True)
        assert await bank.backfill() == 0, "it is being read"
        await bank._store.settle(claimed, error="no JSON", now=AT)
        assert await bank.backfill() == 1, "it was given up"
        assert await bank.run_jobs() == ()
        assert len(await bank.items("fact")) == 4


async def test_an_export_of_the_first_format_is_read_still(tmp_path):
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank, clock)
        header, *values = map(json.loads, await lines_of(bank))
        assert header["format"] == 3
        old = [{**header, "format": 1}, *(v for v in values if v["type"] not in ("supersession", "setting"))]
        for value in old:
            if value["type"] == "message":
                del value["important"]
            if value["type"] == "item":
                del value["item"]["label"]
        assert len(values) - len(old) + 1 > 3
        await copy.import_([json.dumps(value) for value in old])
        assert await copy.messages() == await bank.messages()
        assert await copy.opinions() == await bank.opinions()
        assert await copy.profile() == Profile(name="copy")


@pytest.mark.parametrize(
    ("line", "error", "problem"),
    [
        ({"type": "setting", "key": "profile"}, MalformedLine, "line 2"),
        ({"type": "setting", "key": "profile", "value": 5}, MalformedLine, "line 2"),
        ({"type": "setting", "key": "embedder", "value": "mine"}, InvalidInput, "embedder"),
        ({"type": "supersession", "item": "fact", "at": "soon"}, MalformedLine, "line 2"),
        ({"type": "supersession", "item": "nothing", "at": AT.isoformat()}, InvalidInput, "nothing"),
    ],
)
async def test_a_damaged_setting_or_supersession_is_named(tmp_path, line, error, problem):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        header, *_ = await lines_of(bank)
        with pytest.raises(error, match=problem):
            await bank.import_([header, json.dumps(line)])
        assert await bank.profile() == Profile(name="bank")
