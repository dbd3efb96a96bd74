"""The loop beside the program: wakes when it is called, rests when there is nothing, frees what it drops."""

import asyncio
from datetime import timedelta

import pytest
from hands import NOON, Clock, Gate, Hand, Wrapped, job, let_others_run, queue, states, until, worker_of

from recollect.errors import StoreUnavailable
from recollect.worker import BackgroundWorker


@pytest.fixture
async def background_of():
    made = []

    def make(store, *hands, **settings):
        made.append(BackgroundWorker(worker_of(store, *hands, **settings)))
        return made[-1]

    yield make
    for background in made:
        await background.close()


async def test_it_does_what_there_is_when_it_is_woken(store, background_of):
    hand = Hand()
    background = background_of(store, hand)
    for n in range(5):
        await queue(store, job(f"j{n}"))
        background.wake()
        await until(lambda n=n: hand.ended == [f"j{k}" for k in range(n + 1)])


async def test_no_call_is_lost_whenever_it_comes(store, background_of):
    """A job that is queued after the loop has looked, but before it rests, is found."""
    hand, looked = Hand(), asyncio.Event()

    async def claim(*args, **how):
        found = await store.claim(*args, **how)
        if found is None and not looked.is_set():
            await queue(store, job())
            background.wake()
            looked.set()
        return found

    background = background_of(Wrapped(store, claim=claim), hand)
    background.wake()
    await until(lambda: hand.ended == ["j1"])


async def test_a_burst_of_calls_while_all_hands_are_busy(store, background_of):
    gate = Gate()
    hand = Hand(does=gate)
    background = background_of(store, hand, concurrency=2)
    await queue(store, job("j0"), job("j1"))
    background.wake()
    await until(lambda: len(hand.begun) == 2)
    for n in range(2, 6):
        await queue(store, job(f"j{n}"))
        background.wake()
    assert len(hand.begun) == 2
    gate.open.set()
    await until(lambda: len(hand.ended) == 6)


async def test_what_a_job_causes_is_done_without_a_call(store, background_of):
    from recollect.domain.changes import Changeset

    chain = {"j1": "j2", "j2": "j3"}
    hand = Hand(makes=lambda done: Changeset(settings=(("knot.then", chain[done.id]),) if done.id in chain else ()))
    background = background_of(store, hand)
    await queue(store, job())
    background.wake()
    await until(lambda: hand.ended == ["j1", "j2", "j3"])


async def test_what_is_due_later_is_found_when_it_is_woken_then(store, background_of):
    clock, hand = Clock(), Hand()
    background = background_of(store, hand, clock=clock)
    await queue(store, job(due=NOON + timedelta(seconds=20)))
    background.wake()
    await until(lambda: not background.at_work)
    assert hand.begun == []
    clock.on(20)
    background.wake()
    await until(lambda: hand.ended == ["j1"])


async def test_it_rests_when_there_is_nothing_to_do(store, background_of):
    looks = 0

    async def claim(*args, **how):
        nonlocal looks
        looks += 1
        return await store.claim(*args, **how)

    hand = Hand()
    background = background_of(Wrapped(store, claim=claim), hand)
    await queue(store, job(), job("j2", due=NOON + timedelta(hours=1)))
    background.wake()
    await until(lambda: not background.at_work)
    assert hand.ended == ["j1"]
    assert looks <= 4


async def test_a_failing_job_does_not_keep_it_busy(store, background_of):
    async def does(job):
        raise ValueError("always")

    hand = Hand(does=does)
    background = background_of(store, hand)
    await queue(store, job())
    background.wake()
    await until(lambda: hand.begun == ["j1"] and not background.at_work)
    assert hand.begun == ["j1"], "the clock stands, so its pause is not over"


async def test_it_outlives_a_store_that_is_out_of_reach_and_says_so_once(store, background_of, caplog):
    down, looks = True, 0

    async def claim(*args, **how):
        nonlocal looks
        looks += 1
        if down:
            raise StoreUnavailable("the disk is full")
        return await store.claim(*args, **how)

    hand = Hand()
    background = background_of(Wrapped(store, claim=claim), hand)
    await queue(store, job())
    for _ in range(3):  # as a memory does that looks across its banks
        background.wake()
        await until(lambda: not background.at_work)
    assert looks == 3
    assert [record.message for record in caplog.records] == [
        "the jobs of bank 'ada' cannot be reached: StoreUnavailable: the disk is full"
    ]
    down = False
    background.wake()
    await until(lambda: hand.ended == ["j1"])


async def test_it_outlives_what_nobody_foresaw(store, background_of):
    broken = True

    async def claim(*args, **how):
        nonlocal broken
        if broken:
            broken = False
            raise RuntimeError("a bug")
        return await store.claim(*args, **how)

    hand = Hand()
    background = background_of(Wrapped(store, claim=claim), hand)
    await queue(store, job())
    background.wake()
    await until(lambda: not background.at_work)
    background.wake()
    await until(lambda: hand.ended == ["j1"])


async def test_closing_frees_what_it_was_doing_and_waking_starts_again(store, background_of):
    gate, hand = Gate(), Hand()
    first = background_of(store, Hand(does=gate))
    await queue(store, job(), job("j2"))
    first.wake()
    await until(lambda: has(store, {"j1": "running", "j2": "running"}))
    await first.close()
    await first.close()
    assert await states(store) == {"j1": "waiting", "j2": "waiting"}
    gate.open.set()
    second = background_of(store, hand)
    second.wake()
    await until(lambda: sorted(hand.ended) == ["j1", "j2"])
    await second.close()
    await queue(store, job("j3"))
    second.wake()
    await until(lambda: "j3" in hand.ended)


async def test_closing_at_any_moment_leaves_no_job_behind(store, background_of):
    """Opened, woken and closed again, as short-lived programs do."""
    await queue(store, *(job(f"j{n}") for n in range(40)))
    for turn in range(15):
        background = background_of(store, Hand(does=lambda job: asyncio.sleep(0)), concurrency=3)
        background.wake()
        await let_others_run(20 * turn)
        await background.close()
        assert set((await states(store)).values()) <= {"waiting"}
        assert {record.attempts for record in await store.jobs()} <= {0}
    await worker_of(store, Hand()).drain()
    assert await store.jobs() == []


async def test_it_begins_nothing_by_itself_where_it_shall_not_or_cannot(store, background_of):
    hand = Hand()
    await queue(store, job())
    for background in (background_of(store, hand, automatic=False), background_of(store)):
        background.wake()
        await until(lambda background=background: not background.at_work)
    assert await states(store) == {"j1": "waiting"}
    assert hand.begun == []


async def has(store, wanted):
    return await states(store) == wanted
