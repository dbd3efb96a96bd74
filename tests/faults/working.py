"""A bank whose recipe is worked off while its model fails: what such tests share."""

from datetime import timedelta
from inspect import isawaitable

from bank_under_test import START

from recollect import Memory, Message
from recollect.domain.jobs import JobState
from recollect.testing.models import HashEmbedder
from recollect.worker import WorkerSettings


def said(texts):
    """Messages m0, m1 and so on, a minute apart."""
    return [
        Message(id=f"m{n}", text=text, speaker="Ada", at=START + timedelta(minutes=n)) for n, text in enumerate(texts)
    ]


def spoil_answer(kind, bad):
    """An answer that breaks what the fault is called after."""
    changes = {"out of range": {"citations": [99]}, "blank": {"answer": " "}}
    bad.update(changes.get(kind, {"citations": []}))


def opened(folder, model, clock, recipe, **more):
    """A memory whose jobs wait until they are asked for, and die of a second failure."""
    how = {"embedder": HashEmbedder(256), "worker": WorkerSettings(automatic=False, attempts=2), "clock": clock}
    return Memory.open(folder, recipe=recipe, model=model, **{**how, **more})


async def worked_off(bank, clock, look=None, *, rounds=200):
    """Work until nothing waits, however often that has to be tried; ``look`` at what each round told and has left."""
    for _ in range(rounds):
        lines = await bank.run_jobs()
        jobs = await bank.jobs()
        if look is not None and isawaitable(seen := look(lines, jobs)):
            await seen
        if not jobs:
            return
        for job in jobs:
            if job.state is JobState.DEAD:
                await bank.retry_job(job.id)
        clock.on(timedelta(hours=30))
    raise AssertionError("there is still work")
