"""What a receipt says of jobs that wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect import Memory, Message
from recollect.app.staff import kept_waiting
from recollect.domain.jobs import JobRecord, JobState
from recollect.methods.hindsight.replies import ExtractedFacts
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

NOW = datetime(2024, 5, 1, 13, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
JOB = JobRecord(
    id="j",
    kind="k",
    state=JobState.WAITING,
    attempts=0,
    error="LimitReached: no call past the limit: 5 are spent",
    reply=None,
    failed=NOW,
    due=LATER,
    worker=None,
    messages=(),
)


def test_what_jobs_wait_for_is_told_once():
    other = replace(JOB, error="LimitReached: no call past the limit: 6 are spent")
    nobody = replace(JOB, error="NoModel: none is configured")
    assert kept_waiting([JOB, other, nobody, JOB], NOW) == [
        "no call past the limit: 5 are spent",
        "none is configured",
    ]


def test_what_is_tried_soon_or_failed_otherwise_does_not_wait():
    failed = [None, "ModelUnavailable: LimitReached: gone", "cut short"]
    others = [replace(JOB, error=error) for error in failed]
    assert kept_waiting([*others, replace(JOB, due=NOW), replace(JOB, due=None)], NOW) == []


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


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
        await ada.work()
        assert await kept("ada", "second") == (), "nobody has tried yet"
        await ada.work()
        (told,) = await kept("ada", "third")
        assert told.startswith("jobs wait: no call past the limit of 1,500 tokens a day: ")
        assert "opens again at 2024-05-02 00:00 UTC" in told
        await kept("bob", "first")
        await bob.work()
        assert await kept("bob", "second") == ()
        assert len(model.prompts) == 2
        clock.now += timedelta(days=1)
        await ada.work()
        assert await ada.jobs() != [], "three sessions are more than a day's tokens"
