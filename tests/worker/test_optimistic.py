"""Writing though others write as well: nobody is overtaken for ever."""

import asyncio

import pytest
from hands import opened, until

from recollect.domain.changes import Changeset
from recollect.errors import StaleWrite
from recollect.store.optimistic import ATTEMPTS, COURTEOUS, commit_derived, until_current


async def test_what_takes_long_to_derive_is_written_though_others_never_stop(store):
    """A conversation is imported message by message while its facts are woven in."""
    derived, kept, stop = 0, 0, False

    async def slow():
        nonlocal derived
        derived += 1
        seen, before = (await store.known([], [])).version, kept
        if derived <= COURTEOUS:  # for as long as it is courteous, others are faster
            await until(lambda: kept >= before + 2)
        await asyncio.sleep(0.02)
        return Changeset(seen=seen, settings=(("slow", "written"),))

    async def quick():
        return Changeset(seen=(await store.known([], [])).version, settings=(("quick", str(kept)),))

    async def import_():
        nonlocal kept
        while not stop:
            await commit_derived(store, quick)
            kept += 1

    importing = asyncio.create_task(import_())
    await commit_derived(store, slow)
    assert await store.setting("slow") == "written"
    assert COURTEOUS < derived <= COURTEOUS + 2, "once it has the turn, it is stale by what was under way at most"
    before = kept
    await until(lambda: kept >= before + 3)  # and the others go on
    stop = True
    await importing


async def test_it_gives_up_in_the_end(store, monkeypatch):
    monkeypatch.setattr("recollect.store.optimistic._pause_s", lambda attempt: 0)
    tries = 0

    async def write():
        nonlocal tries
        tries += 1
        raise StaleWrite("another process is faster")

    with pytest.raises(StaleWrite, match="another process"):
        await until_current(store, write)
    assert tries == ATTEMPTS
    assert await until_current(store, lambda: asyncio.sleep(0, "free again")) == "free again"


async def test_another_error_ends_it_at_once_and_leaves_the_turn_free(store):
    async def write():
        raise ValueError("broken")

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            await until_current(store, write)


async def test_one_bank_does_not_wait_for_another(store, monkeypatch):
    monkeypatch.setattr("recollect.store.optimistic._pause_s", lambda attempt: 0)
    banks, other = opened()
    tries, has_turn, done = 0, asyncio.Event(), asyncio.Event()

    async def starved():
        nonlocal tries
        tries += 1
        if tries <= COURTEOUS:
            raise StaleWrite("others were faster")
        has_turn.set()
        await done.wait()

    starving = asyncio.create_task(until_current(store, starved))
    await has_turn.wait()
    assert await until_current(other, lambda: asyncio.sleep(0, "written")) == "written"
    waiting = asyncio.create_task(until_current(store, lambda: asyncio.sleep(0, "written after it")))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    done.set()
    await starving
    assert await waiting == "written after it"
    await banks.close()
