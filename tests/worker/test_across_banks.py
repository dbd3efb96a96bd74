"""Background work of a memory with many banks: what is due later is found by a look across them."""

from datetime import UTC, datetime, timedelta

import pytest
from hands import until

from recollect import Memory, Message
from recollect.errors import ModelUnavailable
from recollect.methods.hindsight.replies import ExtractedFacts
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

NOW = datetime(2024, 5, 1, 13, 30, tzinfo=UTC)


class Clock:
    now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def memory_of(tmp_path):
    def make(model, clock, **how):
        settings = WorkerSettings(poll_s=0.01, **how)
        return Memory.open(
            tmp_path,
            embedder=HashEmbedder(),
            recipe="hindsight",
            model=model,
            clock=clock,
            worker=settings,
            open_banks=1,
        )

    return make


async def kept(memory, names):
    for name in names:
        said = Message(speaker="Ada", text=f"I am {name}.", at=NOW)
        await (await memory.bank(name)).retain(said, session="s")


async def nothing_left(memory, names):
    return not any([await (await memory.bank(name)).jobs() for name in names])


async def test_jobs_of_banks_that_were_closed_meanwhile_are_done(memory_of):
    clock, names = Clock(), ("a", "b", "c")
    model = FunctionModel(lambda *_: ExtractedFacts(facts=()))
    async with memory_of(model, clock) as memory:
        await kept(memory, names)
        assert len(memory._banks) <= 3
        clock.now += timedelta(hours=1)

        async def done():
            return await memory.banks_with_jobs(due=False) == ()

        await until(done)
        assert await nothing_left(memory, names)


async def test_what_failed_is_tried_again_when_it_is_due(memory_of):
    clock, down = Clock(), True

    def answer(*_):
        if down:
            raise ModelUnavailable("it is down")
        return ExtractedFacts(facts=())

    async with memory_of(FunctionModel(answer), clock) as memory:
        await kept(memory, ("a",))
        clock.now += timedelta(hours=1)

        async def failed():
            return any(job.error for job in await (await memory.bank("a")).jobs())

        await until(failed)
        down = False
        clock.now += timedelta(hours=1)

        async def done():
            return await memory.banks_with_jobs(due=False) == ()

        await until(done)


async def test_a_memory_does_the_jobs_of_the_banks_that_it_has_opened_only(memory_of):
    clock = Clock()
    model = FunctionModel(lambda *_: ExtractedFacts(facts=()))
    async with memory_of(model, clock, automatic=False) as memory:
        await kept(memory, ("a", "b"))
    clock.now += timedelta(hours=1)
    async with memory_of(model, clock) as memory:
        await memory.bank("a")

        async def done():
            return await memory.banks_with_jobs() == ("b",)

        await until(done)
