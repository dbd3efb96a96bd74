"""REMem reads a small conversation while the model fails in every way: it shows, and in the end nothing is missing."""

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
from working import opened, said, worked_off

from recollect.domain.items import ItemKind
from recollect.domain.jobs import JobState
from recollect.domain.links import LinkKind
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable
from recollect.methods.remem.indexer import KIND, Indexer
from recollect.methods.remem.settings import IndexSettings
from recollect.recipes import Recipe
from recollect.store.commit_retry import derive_changes

GISTS, FACTS = "remem.gists", "remem.facts"
OPERATIONS = (GISTS, FACTS)
SEEDS = (7, 8)
RECIPE = Recipe(
    name="indexed",
    # A message a chunk, a chunk a job: the order of the work is the same whatever fails.
    consolidate=(
        partial(Indexer, settings=IndexSettings(chunk_tokens=1, chunks=1, context_messages=0, theta_syn=0.6)),
    ),
)
SAID = (
    "Toby the beagle chewed the brown shoes.",
    "Toby the beagle chewed the red shoes.",
    "I bought bread.",
    "The choir sings on Monday evening.",
    "The choir sings on Friday evening.",
)
_NUMBERED = re.compile(r"^\[(\d+)\] .*?, \d\d:\d\d: (.*)$", re.M)


def reply_to(operation, subject, text):
    """What the model answers to a prompt, before JSON."""
    told = [(int(n), words) for n, words in _NUMBERED.findall(text.partition("</messages>")[0])]
    if operation == GISTS:
        return {"gists": [{"text": words, "start": None, "end": None, "messages": [n]} for n, words in told]}
    times = {"point_in_time": "2024-05", "start_time": None, "end_time": None}
    return {
        "facts": [
            {"subject": words.split()[0], "predicate": "told", "object": words, **times, "messages": [n]}
            for n, words in told
        ]
    }


def spoil_gists(kind, bad):
    changes = {
        "out of range": {"messages": [99]},
        "dangling": {"messages": []},
        "blank": {"text": " "},
        "invariant": {"start": "2024-05-03", "end": "2024-05-01"},
    }
    bad["gists"][0].update(changes[kind])


def spoil_facts(kind, bad):
    changes = {
        "out of range": {"messages": [99]},
        "dangling": {"messages": []},
        "blank": {"object": "..."},
        "invariant": {"start_time": "2024-05-03"},  # beside a point in time
    }
    bad["facts"][0].update(changes[kind])


@pytest.fixture(autouse=True)
def _a_model_for_remem(monkeypatch):
    monkeypatch.setattr(machinery, "reply_to", reply_to)
    for operation, spoil in {GISTS: spoil_gists, FACTS: spoil_facts}.items():
        monkeypatch.setitem(machinery._SPOILERS, operation, spoil)


@pytest.fixture(scope="module")
def at():
    with endpoint() as running:
        yield running


async def made(bank):
    """Nodes and edges, without what says when they were stored."""
    items = await bank._store.items_of([ItemKind.GIST, ItemKind.TRIPLE], superseded=True)
    parts = [part async for part in bank._store.dump()]
    kinds = (LinkKind.CONTEXT, LinkKind.SYNONYMY)
    return (
        {item.id: (item.text, item.sources, item.triple, item.superseded) for item in items},
        {(link.source, link.target, link.kind, link.weight) for p in parts for link in p.links if link.kind in kinds},
    )


@pytest.fixture
async def truth(at, tmp_path):
    """What a run without faults makes."""
    clock = Clock()
    async with opened(tmp_path / "truth", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        await worked_off(bank, clock)
        items, links = await made(bank)
    assert sorted(id_.partition(":")[0] for id_ in items) == ["gist"] * 5 + ["triple"] * 5
    assert sum(kind is LinkKind.CONTEXT for _, _, kind, _ in links) == 5
    assert sum(kind is LinkKind.SYNONYMY for _, _, kind, _ in links) >= 2
    return items, links


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
            assert job.error == f"{type(hit.error).__name__}: {hit.error}"
            assert isinstance(hit.error, InvalidReply if hit.kind in INVALID else ModelUnavailable)
            assert (job.reply is not None) == (hit.kind in INVALID), hit.kind
        assert_sound(tmp_path / "banks" / f"{NAME}.bank")

    async with opened(tmp_path / "banks", model, clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        await worked_off(bank, clock, look)
        assert await made(bank) == truth
        costs = await bank.costs()
    assert not any(model.plan.values()), "every fault was met"
    assert sum(cost.failed for cost in costs) == len(OPERATIONS) * len(KINDS), "and is in the ledger"


async def test_past_a_limit_words_are_kept_and_the_rest_waits(at, tmp_path, truth):
    clock = Clock()
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE, limits="3k/day") as memory:
        bank = await memory.bank(NAME)
        receipt = await bank.retain(said(SAID), session="s", wait=True)
        assert LimitReached.__name__ in receipt.notes[0]
        assert len(await bank.messages()) == len(SAID)
        items, _ = await made(bank)
        assert set(items) < set(truth[0])
        (job,) = await bank.jobs()
        assert (job.state, job.attempts) == (JobState.WAITING, 0)
        clock.on(timedelta(hours=30))
        await worked_off(bank, clock)
        assert await made(bank) == truth


@pytest.mark.parametrize("derived", [False, True])
async def test_a_worker_that_vanishes_leaves_its_job_to_the_next(at, tmp_path, truth, derived):
    """It is gone after its calls, before or after it has derived anything; when its lease is over, another does it."""
    clock = Clock()
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID), session="s")
        job = await bank._store.claim([KIND], "gone", clock() + timedelta(minutes=5), 60)
        (consolidator,) = bank._method(None).consolidators
        derive = await consolidator.consolidate(job, bank._store, clock())
        if derived:
            changes = await derive_changes(bank._store, derive)
            assert replace(changes, settled_job=job).items
        (record,) = await bank.jobs()
        assert record.state is JobState.RUNNING, "it does not read as done"
        assert (await made(bank))[0] == {}
    clock.on(timedelta(hours=1))
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await worked_off(bank, clock)
        assert await made(bank) == truth


async def test_what_is_forgotten_while_the_model_reads_is_not_kept(at, tmp_path):
    clock = Clock()
    async with opened(tmp_path / "banks", Faulty(at, {}), clock, RECIPE) as memory:
        bank = await memory.bank(NAME)
        await bank.retain(said(SAID[:1]), session="s")
        job = await bank._store.claim([KIND], "slow", clock() + timedelta(minutes=5), 60)
        (consolidator,) = bank._method(None).consolidators
        derive = await consolidator.consolidate(job, bank._store, clock())
        receipt = await bank.forget(messages="m0")
        assert receipt.verified
        changes = await derive_changes(bank._store, derive)
        assert (changes.items, changes.links, changes.jobs, changes.mentions) == ((), (), (), ())
        await worked_off(bank, clock)
        assert await made(bank) == ({}, set())
