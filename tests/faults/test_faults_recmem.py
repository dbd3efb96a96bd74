"""RecMem over a small conversation while the model fails in every way: it shows, and in the end nothing is missing."""

from __future__ import annotations

import random
import re
from collections import deque
from dataclasses import replace
from datetime import timedelta
from functools import partial

import endpoint as machinery
import pytest
from bank_under_test import NAME, Clock, Faulty, seen_in
from endpoint import INVALID, KINDS, endpoint
from working import opened, said, spoil_answer, worked_off

from recollect.domain.items import ItemKind
from recollect.domain.jobs import JobState
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable
from recollect.methods.recmem.answer import TierAnswerer
from recollect.methods.recmem.consolidate import KIND, UnitConsolidator
from recollect.methods.recmem.settings import ConsolidateSettings, Recurrence
from recollect.recipes import Recipe
from recollect.store.commit_retry import derive_changes
from recollect.testing.models import HashEmbedder

MERGE, EPISODES, REFINE, ANSWER = (f"recmem.{one}" for one in ("merge", "episodes", "refine", "answer"))
OPERATIONS = (MERGE, EPISODES, REFINE)
SEEDS = (5, 6)
RECIPE = Recipe(
    name="recmem",
    # A unit is given up where it stands only after more failures than there are: the order of the work is the same.
    consolidate=(
        partial(
            UnitConsolidator,
            settings=ConsolidateSettings(recurrence=Recurrence(theta_sim=0.55, theta_count=2), patience=10**6),
        ),
    ),
    answer=TierAnswerer,
)
SAID = (
    "Toby the beagle chewed the brown shoes.",
    "The river was high.",
    "Toby the beagle chewed the red shoes.",
    "I bought bread.",
    "Toby the beagle chewed the blue shoes.",
    "Toby the beagle chewed the green shoes again.",
    "The choir sings on Monday evening.",
    "The choir sings on Tuesday evening.",
    "The choir sings on Friday evening.",
    "The choir sings on Monday evening, they say.",
    "Toby the beagle chewed the white shoes.",
    "I am allergic to wasps.",
)
_NUMBERED = re.compile(r"^\[(\d+)\] .*?, \d\d:\d\d, \w+: (.*)$", re.M)


def reply_to(operation, subject, text):
    """What the model answers to a prompt, before JSON."""
    if operation == MERGE:
        episode = text.partition("<episode>\n")[2].partition("\n</episode>")[0]
        new = text.partition("<new_exchange>")[2].partition("Ada: ")[2].partition("\n")[0]
        joins = "again" in new or "white" in new
        return {"merge": joins, "episode": f"{episode} Then: {new}" if joins else ""}
    if operation == ANSWER:
        return {"reasoning": "It is said.", "answer": "Shoes.", "abstained": False, "citations": [1]}
    told = [(int(n), words) for n, words in _NUMBERED.findall(text.partition("</exchanges>")[0])]
    if operation == EPISODES:
        whole = "How it went: " + " ".join(words for _, words in told)
        return {"episodes": [{"text": whole, "exchanges": [n for n, _ in told]}]}
    facts = [
        {"text": f"It is known: {words}", "type": "event", "exchanges": [n], "start": None, "end": None, "replaces": []}
        for n, words in told
    ]
    return {"facts": facts[:9]}


def spoil_merge(kind, bad):
    bad.update({"merge": True, "episode": " "})


def spoil_episodes(kind, bad):
    changes = {"out of range": {"exchanges": [99]}, "dangling": {"exchanges": []}, "blank": {"text": " "}}
    bad["episodes"][0].update(changes.get(kind, {}))
    if kind == "invariant":
        bad["episodes"] *= 4


def spoil_facts(kind, bad):
    changes = {
        "out of range": {"exchanges": [99]},
        "dangling": {"type": "update", "replaces": [99]},
        "blank": {"text": "..."},
        "invariant": {"start": "2024-05-03", "end": "2024-05-01"},
    }
    bad["facts"][0].update(changes.get(kind, {}))


@pytest.fixture(autouse=True)
def _a_model_for_recmem(monkeypatch):
    monkeypatch.setattr(machinery, "reply_to", reply_to)
    spoilers = {MERGE: spoil_merge, EPISODES: spoil_episodes, REFINE: spoil_facts, ANSWER: spoil_answer}
    for operation, spoil in spoilers.items():
        monkeypatch.setitem(machinery._SPOILERS, operation, spoil)


@pytest.fixture(scope="module")
def at():
    with endpoint() as running:
        yield running


async def made(bank):
    """Tiers without what says when they were stored."""
    items = await bank._store.items_of([ItemKind.EPISODE, ItemKind.SEMANTIC], superseded=True)
    return {
        item.id: (item.text, item.label, item.sources, item.derived_from, item.superseded is None) for item in items
    }


@pytest.fixture
async def truth(at, tmp_path):
    """What a run without faults makes, and in how many calls of each kind."""
    model, clock = Faulty(at, {}), Clock()
    async with opened(tmp_path / "truth", model, clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        await worked_off(bank, clock)
        there = await made(bank)
        calls = {cost.operation: cost.usage.calls for cost in await bank.costs()}
    labels = sorted(label for _, label, _, _, holds in there.values() if holds and "semantic" not in label)
    assert "salient: allergy" in labels
    assert sum(label.startswith("recurrence") for label in labels) == 2
    assert [step for step in there if step.endswith(":2")], "one has grown twice"
    assert min(calls.values()) >= 2
    return there


def plan(seed):
    """Every fault at every operation, in some order."""
    rng = random.Random(seed)
    faults = {operation: list(KINDS) for operation in OPERATIONS}
    for kinds in faults.values():
        rng.shuffle(kinds)
    return {operation: deque(kinds) for operation, kinds in faults.items()}


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_model_that_fails_in_every_way(at, tmp_path, truth, assert_sound, seed):
    clock, model = Clock(), Faulty(at, plan(seed))
    told = 0

    def look(lines, jobs):
        nonlocal told
        new, told = model.hits[told:], len(model.hits)
        assert len(lines) == len(jobs)
        for hit in new[-1:]:
            (job,) = jobs
            assert job.id == KIND
            assert job.error == f"{type(hit.error).__name__}: {hit.error}"
            assert isinstance(hit.error, InvalidReply if hit.kind in INVALID else ModelUnavailable)
            assert (job.reply is not None) == (hit.kind in INVALID), hit.kind
        assert_sound(tmp_path / "banks" / f"{NAME}.bank")

    async with opened(tmp_path / "banks", model, clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        for message in said(SAID):
            await bank.retain(message, session="s")
            await worked_off(bank, clock, look)
        costs = await bank.costs()
        assert await made(bank) == truth
    assert not any(model.plan.values()), "every fault was met"
    assert sum(cost.failed for cost in costs) == len(OPERATIONS) * len(KINDS), "and is in the ledger"
    seen = await seen_with(tmp_path / "banks")
    assert {id_: text for id_, (_, _, text) in seen.messages.items()} == {f"m{n}": text for n, text in enumerate(SAID)}


async def seen_with(folder):
    import bank_under_test

    embedder = bank_under_test.HashEmbedder
    try:
        bank_under_test.HashEmbedder = lambda: HashEmbedder(256)
        return await seen_in(folder)
    finally:
        bank_under_test.HashEmbedder = embedder


@pytest.mark.parametrize("kind", ["broken", "refusal", "wrong types", "out of range", "timeout"])
async def test_an_answer_that_fails_says_so_and_leaves_nothing_behind(at, tmp_path, truth, kind):
    clock, model = Clock(), Faulty(at, {})
    async with opened(tmp_path / "banks", model, clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s", wait=True)
        before = await made(bank)
        model.plan[ANSWER] = deque([kind])
        with pytest.raises(InvalidReply if kind in INVALID else ModelUnavailable):
            await bank.ask("What did Toby chew?")
        assert await made(bank) == before
        answer = await bank.ask("What did Toby chew?")
        assert (answer.text, answer.receipt.usage.calls) == ("Shoes.", 1)
        (cost,) = [cost for cost in await bank.costs() if cost.operation == ANSWER]
        assert (cost.failed, cost.usage.calls) == (1, 2)


async def test_past_a_limit_words_are_kept_and_the_rest_waits_for_the_next_day(at, tmp_path, truth):
    clock, model, held_up = Clock(), Faulty(at, {}), 0

    def look(lines, jobs):
        nonlocal held_up
        for job in jobs:
            assert job.error.startswith(f"{LimitReached.__name__}: no call past the limit of 3,000 tokens a day")
            assert (job.state, job.attempts) == (JobState.WAITING, 0)
            held_up += 1

    async with opened(tmp_path / "banks", model, clock, RECIPE, limits="3k/day") as memory:
        bank = await memory.bank(NAME)
        receipt = await bank.retain(said(SAID), session="s", wait=True)
        assert receipt.notes[0].startswith(f"{KIND}: LimitReached")
        assert len(await bank.messages()) == len(SAID)
        clock.on(timedelta(hours=30))
        await worked_off(bank, clock, look)
        assert held_up
        assert await made(bank) == truth


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("derived", [False, True])
async def test_a_worker_that_vanishes_leaves_its_job_to_the_next(at, tmp_path, truth, operation, derived):
    """It is gone after a call, before or after it has derived anything; when its lease is over, another does it."""
    clock, model = Clock(), Faulty(at, {})
    async with opened(tmp_path / "banks", model, clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        await vanish(bank, clock, operation, derived=derived)
        (job,) = await bank.jobs()
        assert job.state is JobState.RUNNING, "it does not read as done"
        assert {id_: one[:-1] for id_, one in (await made(bank)).items()}.items() <= {
            id_: one[:-1] for id_, one in truth.items()
        }.items()
    clock.on(timedelta(hours=1))
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await worked_off(bank, clock)
        assert await made(bank) == truth


async def vanish(bank, clock, operation, *, derived):
    """Do jobs one after another up to the first that calls the operation; of that nothing is committed."""
    (consolidator,) = bank._method(None).consolidators
    while True:
        job = await bank._store.claim([KIND], "gone", clock() + timedelta(minutes=1), 60)
        derive = await consolidator.consolidate(job, bank._store, clock())
        called = any(cost.operation == operation for cost in await bank.costs())
        changes = await derive_changes(bank._store, derive) if derived or not called else None
        if called:
            return
        await bank._store.commit(replace(changes, settled_job=job))
