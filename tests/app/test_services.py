"""What a receipt says of jobs that wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recollect import Memory, Message
from recollect.app.model_pool import ModelPool
from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job
from recollect.methods.hindsight.replies import ExtractedFacts
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

NOW = datetime(2024, 5, 1, 13, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


async def test_what_jobs_wait_for_is_told_once_and_found_without_reading_the_queue(monkeypatch):
    def read(*_):
        raise AssertionError("the whole queue is read with every write")

    store = await SqliteFolder(":memory:").open("ada", embedder="hash-8", dimension=8)
    await store.commit(Changeset(jobs=tuple(Job(id=f"j{n}", kind="k", payload="") for n in range(5))))
    for error in (
        "LimitReached: 5: all are spent",
        "LimitReached: 6 are spent",
        "NoModel: none",
        "KeyError: LimitReached",
    ):
        job = await store.claim(["k"], "w", NOW, 60)
        await store.settle(job, error=error, retry_at=LATER, now=NOW)
    monkeypatch.setattr(store, "jobs", read)
    moment = NOW
    work = ModelPool(FunctionModel(lambda *_: None), clock=lambda: moment).runner_for(store, [])
    assert await work.blocked_reasons() == ("jobs wait: 5: all are spent", "jobs wait: none")
    moment = LATER
    assert await work.blocked_reasons() == (), "they are due again"
    await store.close()


async def test_a_limit_with_too_little_left_for_a_job_is_told(tmp_path):
    clock, model = Clock(), FunctionModel(lambda *_: ExtractedFacts(facts=()))
    async with Memory.open(
        tmp_path,
        embedder=HashEmbedder(),
        recipe="hindsight",
        model=model,
        clock=clock,
        limits={"ada": "1500/day"},
        worker=WorkerSettings(automatic=False),
    ) as memory:

        async def kept(bank: str, session: str) -> tuple[str, ...]:
            clock.now += timedelta(minutes=30)
            said = Message(speaker="Ada", text=f"I adopted Toby, {session}.", at=clock.now)
            return (await (await memory.bank(bank)).retain(said, session=session)).notes

        ada, bob = await memory.bank("ada"), await memory.bank("bob")
        assert await kept("ada", "first") == ()
        await ada.run_jobs()
        assert await kept("ada", "second") == (), "nobody has tried yet"
        await ada.run_jobs()
        (told,) = await kept("ada", "third")
        assert told.startswith("jobs wait: no call past the limit of 1,500 tokens a day: ")
        assert "opens again at 2024-05-02 00:00 UTC" in told
        await kept("bob", "first")
        await bob.run_jobs()
        assert await kept("bob", "second") == ()
        assert len(model.prompts) == 2
        clock.now += timedelta(days=1)
        await ada.run_jobs()
        assert await ada.jobs() != [], "three sessions are more than a day's tokens"
