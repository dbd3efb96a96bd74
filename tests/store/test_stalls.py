"""The event loop goes on while a large bank is opened, searched and written to."""

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from benchmarks.heartbeat import Heartbeat
from recollect import Memory, Message
from recollect.domain.changes import Changeset, Session
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.messages import Role, StoredMessage
from recollect.store.index.pause import Pauses
from recollect.testing.models import HashEmbedder

ITEMS, BATCH, DIMENSION = 100_000, 5_000, 256
AT = datetime(2024, 5, 1, tzinfo=UTC)
LONGEST_S = 0.020


async def test_a_stall_is_seen_and_a_wait_is_none():
    async with Heartbeat() as heart:
        await asyncio.sleep(0.02)
        time.sleep(0.1)  # noqa: ASYNC251
    assert heart.longest_s > 0.09


def test_a_thread_that_pauses_lets_others_run():
    done, beats = threading.Event(), []

    def work():
        pauses, until = Pauses(), time.perf_counter() + 0.2
        while time.perf_counter() < until:
            pauses.take()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        beats.append(time.perf_counter())
    thread.join()
    assert len(beats) > 5


def part_of(start, vectors, terms):
    """Messages and their turns, in sessions of 500."""
    messages, items = [], []
    for number in range(start, start + BATCH):
        at, session = AT + timedelta(minutes=number), f"s{number // 500}"
        kept = {"session": session, "speaker": "Ada", "recorded": at}
        text = f"message {number}"
        messages.append(
            StoredMessage(id=f"m{number}", position=number % 500, role=Role.USER, text=text, captions=(), at=at, **kept)
        )
        item = Item(
            id=f"turn:m{number}",
            kind=ItemKind.TURN,
            text=text,
            sources=(f"m{number}",),
            mentioned=at,
            order=number % 500 * 1_000_000,
            **kept,
        )
        items.append(IndexedItem(item=item, vector=vectors[number - start], terms=terms[number - start]))
    sessions = {m.session: Session(id=m.session, started=m.at) for m in reversed(messages)}
    return Changeset(sessions=tuple(sessions.values()), messages=tuple(messages), items=tuple(items))


async def fill(folder):
    rng = np.random.default_rng(0)
    async with Memory.open(folder, embedder=HashEmbedder(DIMENSION), model="none") as memory:
        store = (await memory.bank("large"))._store
        for start in range(0, ITEMS, BATCH):
            vectors = rng.normal(size=(BATCH, DIMENSION)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            await store.commit(part_of(start, vectors, rng.integers(0, 20_000, (BATCH, 12)).astype(np.uint32)))


async def stall_of(work):
    async with Heartbeat() as heart:
        await work
    return heart.longest_own_s


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_nothing_stalls_the_event_loop(tmp_path):
    await fill(tmp_path)
    said = [Message(speaker="Ada", text=f"I walked to the lake with Toby, time {n}.", at=AT) for n in range(200)]

    async def chat(bank):
        for message in said[:20]:
            await bank.retain([message], session="chat")
            await bank.recall("Who walked to the lake?")

    async def export(bank):
        lines = 0
        async for _ in bank.export():
            lines += 1
            if lines == ITEMS + 5_000:  # the messages, and some of the items with their vectors
                return

    stalls = {}
    async with Memory.open(tmp_path, embedder=HashEmbedder(DIMENSION), model="none") as memory:
        bank = await memory.bank("large")
        stalls["first recall"] = await stall_of(bank.recall("Who walked to the lake?"))
        stalls["first retain"] = await stall_of(bank.retain(said[:1], session="first"))
        stalls["chat"] = await stall_of(chat(bank))
        stalls["export"] = await stall_of(export(bank))
        stalls["many messages"] = await stall_of(bank.retain(said, session="many"))
    assert {name: took for name, took in stalls.items() if took > LONGEST_S} == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_an_import_does_not_stall_the_event_loop(tmp_path):
    rng = np.random.default_rng(0)
    async with Memory.open(tmp_path, embedder=HashEmbedder(DIMENSION), model="none") as memory:
        bank = await memory.bank("bank")
        vectors = rng.normal(size=(BATCH, DIMENSION)).astype(np.float32)
        await bank._store.commit(part_of(0, vectors, rng.integers(0, 20_000, (BATCH, 12)).astype(np.uint32)))
        lines = [line async for line in bank.export()]
        stalls = {
            "into a new bank": await stall_of(memory.import_bank("new", lines)),
            "into an empty bank": await stall_of((await memory.bank("empty")).import_(lines)),
        }
    assert {name: took for name, took in stalls.items() if took > LONGEST_S} == {}
