"""Several processes, and several tasks, at work on one bank."""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Memory, Message, Role
from recollect.domain.time import Interval, Precision
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)


async def several(what: str, folder: Path, processes: int, count: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        Path(__file__).with_name("several.py"),
        *(what, folder, str(processes), str(count)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
    )


async def test_two_processes_write_and_a_third_writes_and_reads(tmp_path, assert_sound):
    processes, count = 2, 40
    running = await several("write", tmp_path, processes, count)
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        told = []
        while line := (await running.stdout.readline()).decode().strip():
            told.append(line)
            if len(told) % 4 == 0:  # what another process was told is kept is found here, at once
                found = await bank.recall(f"What was {line}?", limit=3)
                assert any(line in evidence.text for evidence in found.evidence), line
                await bank.retain(Message(text=f"w9x{len(told)} Ada Lovelace", id=f"m9-{len(told)}"), session="s0")
        assert await running.wait() == 0, (await running.stderr.read()).decode()
        assert len(told) == processes * count
        messages = await bank.messages()
        assert len(messages) == processes * count + len(told) // 4
        for who in range(processes):
            own = [int(m.id.split("-")[1]) for m in messages if m.id.startswith(f"m{who}-")]
            assert own == sorted(own)
        tables = await bank._store.entity_tables()
        assert sorted(entity.name for entity in tables.entities) == ["Ada Lovelace", "Toby"]
    assert_sound(tmp_path / "bank.bank")


async def test_banks_can_be_made_by_several_processes_at_once(tmp_path, assert_sound):
    running = await several("make", tmp_path, 5, 8)
    _, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        assert await memory.banks() == tuple(f"bank{number}" for number in range(8))
        for name in await memory.banks():
            messages = await (await memory.bank(name)).messages()
            assert {m.id for m in messages} == {f"m{who}" for who in range(5)}
            assert_sound(tmp_path / f"{name}.bank")


async def test_tasks_of_one_process_do_not_disturb_each_other(tmp_path, assert_sound):
    during = Interval(start=AT, end=None, precision=Precision.RANGE)
    scopes = ({}, {"sessions": "s1"}, {"speakers": ["Ada"]}, {"during": during}, {"exclude": ["m1"]})
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        await bank.retain(
            [Message(text=f"old {n} in 2024", id=f"m{n}", at=AT, speaker="Ada") for n in range(3)], session="s1"
        )

        async def write(number: int) -> None:
            roles = (Role.USER, Role.ASSISTANT)
            await bank.retain(Message(text=f"new {number} dog", role=roles[number % 2]), session=f"s{number % 3}")

        async def read(number: int) -> None:
            found = await bank.recall('What "old" dog in 2024?', **scopes[number % len(scopes)])
            assert found.receipt.complete, found.receipt
            assert found.evidence

        await asyncio.gather(*(task(number) for number in range(60) for task in (write, read)))
        assert (await bank.info()).messages == 63
    assert_sound(tmp_path / "bank.bank")


async def test_a_recall_sees_the_bank_grow_between_its_steps(tmp_path, monkeypatch):
    """Another task's write comes between the arms of a recall, every time."""
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("bank")
        await bank.retain([Message(text=f"dog {n} yesterday", at=AT) for n in range(5)], session="s")
        retriever_load = type(await bank._store.search(*_anything())).signals
        count = iter(range(100))

        async def and_write(self, refs, graph):
            await bank.retain(Message(text=f"another dog {next(count)}"), session="s")
            await bank._store.speakers()  # brings the index up to date
            return await retriever_load(self, refs, graph)

        monkeypatch.setattr(type(await bank._store.search(*_anything())), "signals", and_write)
        for scope in ({}, {"sessions": "s"}):
            found = await bank.recall("Which dog on 30 April 2024?", **scope)
            assert found.receipt.complete
            assert len(found.evidence) >= 5


def _anything():
    import numpy as np

    from recollect.domain.queries import Scope, SearchProbe
    from recollect.domain.signals import Weights

    probe = SearchProbe(topic="", vector=np.zeros(64, np.float32), terms=np.empty(0, np.uint32))
    return probe, Scope(), Weights()


@pytest.mark.parametrize("first", [0, 1])
async def test_the_entities_of_one_memory_are_those_of_the_other(tmp_path, first):
    async with (
        Memory.open(tmp_path, embedder=HashEmbedder()) as one,
        Memory.open(tmp_path, embedder=HashEmbedder()) as two,
    ):
        banks = [await one.bank("bank"), await two.bank("bank")]
        await banks[first].retain(Message(text="I met Ada Lovelace in Paris."), session="s")
        await banks[1 - first].retain(Message(text="Then Ada Lovelace went to Paris again."), session="s")
        await banks[first].retain(Message(text="Ada Lovelace likes Paris and Toby."), session="s")
        await banks[1 - first].retain(Message(text="Toby likes Ada Lovelace."), session="s")
        for bank in banks:
            tables = await bank._store.entity_tables()
            assert sorted(entity.name for entity in tables.entities) == ["Ada Lovelace", "Paris", "Toby"]
            found = await bank.recall("Who likes Paris?")
            assert len(found.evidence) == 4
