"""Hindsight over a small conversation, with more than 200 faults put in its way.

After each: nothing that was acknowledged is lost, nothing is half derived, the fault can be seen, and when the faults
are over, everything is as if there had been none.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from datetime import timedelta

import pytest
from bank_under_test import (
    EXTRACT,
    NAME,
    OBSERVE,
    OPERATIONS,
    REFLECT,
    Clock,
    Faulty,
    Life,
    Watch,
    made_of,
    opened,
    truth,
)
from conversation import messages_of
from endpoint import INVALID, KINDS, endpoint

from recollect.domain.changes import Changeset
from recollect.domain.jobs import JobState
from recollect.errors import InvalidReply, LimitReached, ModelUnavailable, StaleWrite
from recollect.store.sqlite.folder import SqliteFolder
from recollect.store.sqlite.store import SqliteStore
from recollect.testing.models import HashEmbedder

SEEDS = (11, 22, 33)
PARTS = 4
STALE_SEEDS = (1, 2)
STALE_AT_LEAST = 5
LIMITED_AT_LEAST = 5
CANCELLED = 6


@pytest.fixture(scope="module")
def at():
    with endpoint() as running:
        yield running


@pytest.fixture
async def watch(at, tmp_path, assert_sound):
    there = await truth(at, tmp_path / "truth", assert_sound)
    return Watch(folder=tmp_path / "banks", assert_sound=assert_sound, truth=there)


def shared_out(seed: int) -> list[list[tuple[str, str]]]:
    """Every fault at every operation, in some order, in parts."""
    rng = random.Random(seed)
    pairs = [(operation, kind) for operation in OPERATIONS for kind in KINDS]
    rng.shuffle(pairs)
    return [pairs[part::PARTS] for part in range(PARTS)]


def test_there_are_more_than_200_faults():
    """Beside stale writes, limits, cancellations and kills; the test below sees that each of them was met."""
    assert sum(len(pairs) for seed in SEEDS for pairs in shared_out(seed)) == len(SEEDS) * 76 > 200


class Visited(Life):
    """Plans half of the faults for each half of the conversation, and checks that each shows."""

    def __init__(self, bank, clock, watch, model, pairs):
        super().__init__(bank, clock, watch)
        self._model, self._pairs = model, pairs
        self._counted = 0
        self._halves = 0
        self.plan_half()

    def plan_half(self):
        start, self._halves = self._halves, self._halves + 1
        for operation in OPERATIONS:
            kinds = [kind for at, kind in self._pairs if at == operation]
            self._model.plan[operation] = deque(kinds[start::2])

    async def _reflected(self, question):
        await super()._reflected(question)
        assert not any(self._model.plan.values()), "some faults met no call"
        if self._halves < 2:
            self.plan_half()

    async def told(self, seen, lines, error=None):
        """Each call that has gone wrong since the last look shows in the queue and in the lines, or was raised."""
        hits, self._counted = self._model.hits[self._counted :], len(self._model.hits)
        if error is not None:
            (hit,) = hits
            assert (hit.operation, hit.error) == (REFLECT, error)
            assert isinstance(error, InvalidReply if hit.kind in INVALID else ModelUnavailable)
            return
        failed = {job.id: job for job in seen.jobs if job.failed == self._clock.now}
        # A job that was put aside and then queued anew, by facts of a later try, may have been done since.
        queued = {job.id for job in seen.jobs}
        hits = [hit for hit in hits if job_of(hit, seen) in queued]
        assert len(failed) == len(hits)
        assert sorted(lines) == sorted(f"{job.id}: {job.error}" for job in seen.jobs)
        for hit in hits:
            job = failed[job_of(hit, seen)]
            assert job.error == f"{type(hit.error).__name__}: {hit.error}"
            assert job.state in (JobState.WAITING, JobState.DEAD)
            assert job.reply == (hit.reply.strip() if hit.kind in INVALID else None), hit.kind


def job_of(hit, seen):
    if hit.operation == EXTRACT:
        return f"{EXTRACT}:{hit.subject.partition('#')[0]}"
    if hit.operation == OBSERVE:
        return f"{OBSERVE}:{next(id_ for id_, name in seen.entities.items() if name == hit.subject)}"
    return f"{hit.operation}:{hit.subject}"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_model_that_fails_in_every_way(at, watch, seed, part):
    pairs = shared_out(seed)[part]
    clock, model = Clock(), Faulty(at, {})
    async with opened(watch.folder, model, clock) as bank:
        life = Visited(bank, clock, watch, model, pairs)
        await life.all()
        costs = await bank.costs()
    assert sorted((hit.operation, hit.kind) for hit in model.hits) == sorted(pairs), "every fault was met"
    assert sum(cost.failed for cost in costs) == len(pairs), "and is in the ledger"
    seen = await watch.look()
    assert seen.jobs == []
    assert made_of(seen) == watch.truth


class Meddled(HashEmbedder):
    """Each time something is embedded to be stored, a second writer is faster, as long as it is in the mood."""

    def __init__(self, folder, seed):
        super().__init__()
        self._banks, self._rng = SqliteFolder(folder), random.Random(seed)
        self.written = 0

    async def embed(self, texts, *, purpose="document"):
        if purpose == "document" and self._rng.random() < 0.7 and await self._banks.names():
            store = await self._banks.open(NAME, embedder=self.name, dimension=self.dimension)
            self.written += 1
            await store.commit(Changeset(settings=(("meddled", str(self.written)),)))
        return await super().embed(texts, purpose=purpose)

    async def close(self):
        await self._banks.close()


@pytest.mark.parametrize("seed", STALE_SEEDS)
async def test_a_second_writer_that_is_always_faster(at, watch, monkeypatch, seed):
    stale = 0
    commit = SqliteStore.commit

    async def counted(self, changes):
        nonlocal stale
        try:
            await commit(self, changes)
        except StaleWrite:
            stale += 1
            raise

    monkeypatch.setattr(SqliteStore, "commit", counted)
    clock, model, embedder = Clock(), Faulty(at, {}), Meddled(watch.folder, seed)
    async with opened(watch.folder, model, clock, embedder=embedder) as bank:
        life = Life(bank, clock, watch)
        await life.all()
        costs = await bank.costs()
    await embedder.close()
    assert stale >= STALE_AT_LEAST, "the second writer did not come in between: the test shows nothing"
    assert life.rounds == 2, "writing anew is no failure: each half was worked off at once"
    assert sum(cost.usage.calls for cost in costs) == await calls_without_faults(at, watch), "no call is paid twice"
    assert made_of(await watch.look()) == watch.truth


async def calls_without_faults(at, watch):
    clock = Clock()
    folder = watch.folder.with_name("quiet")
    async with opened(folder, Faulty(at, {}), clock) as bank:
        await Life(bank, clock, Watch(folder=folder, assert_sound=watch.assert_sound, truth=watch.truth)).all()
        return sum(cost.usage.calls for cost in await bank.costs())


class Rationed(Life):
    """Counts what limits have held up; the clock goes on by more than a day after each round."""

    held_up = 0

    async def told(self, seen, lines, error=None):
        if error is not None:
            assert isinstance(error, LimitReached)
            self.held_up += 1
            return
        for job in seen.jobs:
            assert job.error.startswith("LimitReached: no call past the limit of 3,000 tokens a day")
            assert (job.state, job.attempts) == (JobState.WAITING, 0), "waiting for tokens uses up no attempt"
            assert job.due == midnight_after(self._clock.now)
            self.held_up += 1
        assert len(lines) == len(seen.jobs)


def midnight_after(moment):
    return (moment + timedelta(days=1)).replace(hour=0, minute=0)


async def test_a_limit_that_opens_again_each_day(at, watch):
    clock, model = Clock(), Faulty(at, {})
    async with opened(watch.folder, model, clock, limits="3k/day") as bank:
        life = Rationed(bank, clock, watch)
        await life.all()
        assert life.held_up >= LIMITED_AT_LEAST
        assert life.rounds > 4
        for message in messages_of("s1"):
            assert (await bank.messages([message.id]))[0].text == message.text
    assert made_of(await watch.look()) == watch.truth


async def test_past_a_limit_words_are_kept_and_the_receipt_says_that_jobs_wait(at, watch):
    clock, model = Clock(), Faulty(at, {})
    async with opened(watch.folder, model, clock, limits="0/day") as bank:
        receipt = await bank.retain(messages_of("s1"), session="s1")
        assert len(receipt.messages) == 3
        assert "jobs wait: no call past the limit of 0 tokens a day" in receipt.notes[0]
        receipt = await bank.retain(messages_of("s2"), session="s2", wait=True)
        assert len(receipt.messages) == 3
        assert [note.partition(": ")[0] for note in receipt.notes] == [f"{EXTRACT}:s1", f"{EXTRACT}:s2"]
    watch.kept.update(("s1", "s2"))
    await watch.look()
    assert model.hits == []


class Interrupted(Life):
    """Cancels what it has begun a few moments later, and begins again."""

    def __init__(self, bank, clock, watch, rng):
        super().__init__(bank, clock, watch)
        self._rng = rng
        self.cut = 0

    async def _worked_off(self):
        enough = self.cut + CANCELLED // 2
        while self.cut < enough and (await self._watch.look()).jobs:
            working = asyncio.create_task(self._bank.run_jobs())
            await asyncio.wait([working], timeout=self._rng.uniform(0, 0.01))
            working.cancel()
            await asyncio.wait([working])
            self.cut += working.cancelled()
            seen = await self._watch.look()
            assert not [job for job in seen.jobs if job.state is not JobState.WAITING], "it is free at once"
            self._clock.on(timedelta(minutes=2))
        await super()._worked_off()


@pytest.mark.parametrize("seed", SEEDS)
async def test_work_that_is_cancelled_at_any_moment(at, watch, seed):
    clock, model = Clock(), Faulty(at, {})
    async with opened(watch.folder, model, clock) as bank:
        life = Interrupted(bank, clock, watch, random.Random(seed))
        await life.all()
    assert life.cut >= CANCELLED // 2
    assert made_of(await watch.look()) == watch.truth
