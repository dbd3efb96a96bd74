"""E-mem over a small conversation while models fail in every way: what is missing is named, and comes in the end."""

from __future__ import annotations

import random
import re
from collections import deque
from dataclasses import replace
from datetime import timedelta
from functools import partial

import endpoint as machinery
import pytest
from bank_under_test import NAME, Clock, Faulty
from endpoint import INVALID, KINDS, endpoint
from working import opened, said, spoil_answer, worked_off

from recollect.domain.items import ItemKind
from recollect.domain.jobs import JobState
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.recipes import get_recipe
from recollect.retain.encode import EncodeSettings
from recollect.retain.segments import SegmentSettings
from recollect.store.commit_retry import derive_changes

SUMMARIZE, ASSIST, ANSWER = (f"emem.{one}" for one in ("summarise", "assist", "answer"))
RECIPE = replace(
    get_recipe("emem"),
    encode=partial(make_turn_encoder, settings=EncodeSettings(segments=SegmentSettings(length=90, overlap=12))),
)
SEEDS = (7, 8)
ASKED = "What did Toby chew, and when does the choir sing?"
SAID = (
    "Toby the beagle chewed the brown shoes of my sister.",
    "The river was high and brought branches and a bucket.",
    "I bought bread, cheese and a broom on the way home.",
    "The choir sings on Monday evening in the old chapel.",
    "We walked home along the quay while it was snowing.",
    "The lift in our house is out of order once more.",
    "Toby the beagle has learned to open the kitchen door.",
    "My neighbour grows tomatoes on the roof of her shed.",
)
_LINE = re.compile(r"^\[[\w :-]+\] \w+: (.*)$", re.M)


def reply_to(operation, subject, text):
    """What the model answers to a prompt, before JSON."""
    lines = _LINE.findall(text.partition("</segment>")[0])
    if operation == SUMMARIZE:
        return {"speakers": ["Ada"], "period": "July 2024", "key_items": [], "events": [f"It was told: {lines[-1]}"]}
    if operation == ASSIST:
        found = [line for line in lines if ("Toby" in line or "choir" in line) and line in SAID]
        quotes = [{"words": line, "shows": "what was asked"} for line in found]
        return {"relevant": bool(found), "quotes": quotes, "inference": "So it was." if found else ""}
    return {"trace": "It is said.", "answer": "Shoes; on Monday.", "abstained": False, "citations": [1]}


def spoil_summary(kind, bad):
    bad["events"] = [" "]


def spoil_finding(kind, bad):
    bad.update({"relevant": True, "quotes": []})


@pytest.fixture(autouse=True)
def _a_model_for_emem(monkeypatch):
    monkeypatch.setattr(machinery, "reply_to", reply_to)
    for operation, spoil in {SUMMARIZE: spoil_summary, ASSIST: spoil_finding, ANSWER: spoil_answer}.items():
        monkeypatch.setitem(machinery._SPOILERS, operation, spoil)


@pytest.fixture(scope="module")
def at():
    with endpoint() as running:
        yield running


async def summaries(bank):
    """Every segment's summary: who made it, and what it says."""
    items = await bank.items(ItemKind.SUMMARY)
    return {item.id: (item.label, item.text, item.sources) for item in items}


@pytest.fixture
async def truth(at, tmp_path):
    """The summaries that a run without faults makes."""
    clock = Clock()
    async with opened(tmp_path / "truth", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s", wait=True)
        there = await summaries(bank)
    assert len(there) >= 3
    assert {label for label, _, _ in there.values()} == {"model"}
    return there


@pytest.mark.parametrize("seed", SEEDS)
async def test_summaries_that_fail_in_every_way_leave_the_extracts_and_are_made_in_the_end(
    at, tmp_path, truth, assert_sound, seed
):
    kinds = list(KINDS)
    random.Random(seed).shuffle(kinds)
    clock, model = Clock(), Faulty(at, {SUMMARIZE: deque(kinds)})

    async def look(lines, jobs):
        assert_sound(tmp_path / "banks" / f"{NAME}.bank")
        waiting = {f"summary:{job.id.rpartition(':')[2]}" for job in jobs}
        there = await summaries(bank)
        assert set(there) == set(truth), "no segment is ever without a summary"
        assert {id_ for id_, (label, _, _) in there.items() if label == "extractive"} == waiting
        last = {hit.subject: hit for hit in model.hits}
        for job in jobs:
            hit = last[f"segment:{job.id.rpartition(':')[2]}"]
            assert job.error == f"{type(hit.error).__name__}: {hit.error}"
            assert isinstance(hit.error, InvalidReply if hit.kind in INVALID else ModelUnavailable)

    async with opened(tmp_path / "banks", model, clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        await worked_off(bank, clock, look)
        assert await summaries(bank) == truth
        (cost,) = await bank.costs()
    assert not any(model.plan.values()), "every fault was met"
    assert (cost.operation, cost.role, cost.failed) == (SUMMARIZE, "assist", len(KINDS))


@pytest.mark.parametrize("kind", KINDS)
async def test_one_assistant_down_is_named_and_the_others_answer(at, tmp_path, kind):
    model = Faulty(at, {})
    async with opened(tmp_path / "banks", model, Clock(), RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s", wait=True)
        whole = await bank.ask(ASKED)
        model.plan[ASSIST] = deque([kind])
        answer = await bank.ask(ASKED)
        costs = {cost.operation: cost for cost in await bank.costs()}
    (hit,) = model.hits
    number = hit.subject.rpartition(":")[2].rstrip(")")
    assert answer.text == whole.text == "Shoes; on Monday."
    assert whole.receipt.notes == ()
    assert answer.receipt.notes == (f"segment {number} was not read: {type(hit.error).__name__}: {hit.error}",)
    assert f"segment {number}: not read ({type(hit.error).__name__})" in [step.detail for step in answer.trace]
    assert len(answer.trace) == len(whole.trace)
    assert costs[ASSIST].failed == 1


async def test_all_assistants_down_is_an_error_and_leaves_nothing_behind(at, tmp_path):
    model = Faulty(at, {})
    async with opened(tmp_path / "banks", model, Clock(), RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s", wait=True)
        before = await bank.info()
        count = before.segments
        model.plan[ASSIST] = deque(["broken"] * count)
        with pytest.raises(ModelUnavailable):
            await bank.ask(ASKED)
        assert len(model.hits) == count
        assert (await bank.info()).items == before.items
        assert (await bank.ask(ASKED)).text == "Shoes; on Monday."


@pytest.mark.parametrize("kind", ["broken", "refusal", "wrong types", "out of range", "blank", "timeout"])
async def test_a_master_that_fails_says_so_and_the_next_question_is_answered(at, tmp_path, kind):
    model = Faulty(at, {ANSWER: deque([kind])})
    async with opened(tmp_path / "banks", model, Clock(), RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s", wait=True)
        with pytest.raises(InvalidReply if kind in INVALID else ModelUnavailable):
            await bank.ask(ASKED)
        assert (await bank.ask(ASKED)).text == "Shoes; on Monday."


async def test_past_a_limit_words_are_kept_and_summaries_wait_for_the_next_day(at, tmp_path, truth):
    clock, held_up = Clock(), 0

    async def look(lines, jobs):
        nonlocal held_up
        for job in jobs:
            assert job.error.startswith(f"{LimitReached.__name__}: no call past the limit of 2,000 tokens a day")
            assert (job.state, job.attempts) == (JobState.WAITING, 0)
            held_up += 1

    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE, limits="2k/day") as memory:
        bank = await memory.bank(NAME)
        receipt = await bank.retain(said(SAID), session="s", wait=True)
        assert any("LimitReached" in note for note in receipt.notes)
        assert len(await bank.messages()) == len(SAID)
        await look((), await bank.jobs())
        assert held_up
        found = await bank.recall("What did Toby chew?")
        assert SAID[0] in "".join(one.text for one in found.evidence)
        clock.on(timedelta(hours=30))
        await worked_off(bank, clock, look)
        assert await summaries(bank) == truth


async def test_without_a_model_extracts_stand_in_and_evidence_is_the_answer(tmp_path, truth):
    async with opened(tmp_path / "banks", "none", Clock(), RECIPE) as memory:
        bank = await memory.bank(NAME)
        receipt = await bank.retain(said(SAID), session="s")
        there = await summaries(bank)
        answer = await bank.ask("What did Toby chew?")
    assert receipt.notes == ("jobs wait: no language model is configured",)
    assert set(there) == set(truth)
    assert {label for label, _, _ in there.values()} == {"extractive"}
    assert (answer.text, answer.abstained) == ("", True)
    assert {one.kind for one in answer.evidence} == {ItemKind.SEGMENT}
    assert answer.evidence[0].sources[0] == "m0"


async def test_a_summary_of_what_is_forgotten_goes_and_is_made_anew_of_what_is_left(at, tmp_path, truth):
    clock = Clock()
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s", wait=True)
        receipt = await bank.forget(messages=["m1"])
        after = await summaries(bank)
        await worked_off(bank, clock)
        anew = await summaries(bank)
        answer = await bank.ask(ASKED)
    lost = {id_ for id_, (_, _, sources) in truth.items() if "m1" in sources}
    assert receipt.verified
    assert lost
    assert {id_ for id_, (label, _, _) in after.items() if label == "extractive"} == lost
    assert {label for label, _, _ in anew.values()} == {"model"}
    assert not any("river" in text or "m1" in sources for _, text, sources in (*after.values(), *anew.values()))
    assert answer.text == "Shoes; on Monday."


async def test_a_worker_that_vanishes_leaves_its_job_to_the_next(at, tmp_path, truth):
    clock = Clock()
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        (consolidator,) = bank._method(None).consolidators
        job = await bank._store.claim([SUMMARIZE], "gone", clock() + timedelta(minutes=1), 60)
        await derive_changes(bank._store, await consolidator.consolidate(job, bank._store, clock()))
        assert {label for label, _, _ in (await summaries(bank)).values()} == {"extractive"}
    clock.on(timedelta(hours=1))
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await worked_off(bank, clock)
        assert await summaries(bank) == truth
