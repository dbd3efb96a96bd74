"""A bank goes out as lines and comes in again the same; another embedder's bank is refused until it is rebuilt."""

import asyncio
import json
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from recollect import Memory, Message, Role
from recollect.domain.changes import Changeset
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.errors import BankNotFound, EmbedderMismatch, InvalidInput, MalformedLine, ModelUnavailable
from recollect.store.sqlite.store import SqliteStore
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, 9, tzinfo=timezone(timedelta(hours=-7)))


def opened(folder, dimension=64):
    return Memory.open(folder, embedder=HashEmbedder(dimension), clock=lambda: AT)


async def fill(bank, count=8):
    for n in range(count):
        at = AT + timedelta(days=n)
        await bank.retain(
            [
                Message(
                    id=f"u{n}",
                    text=f"Yesterday I met Ada Lovelace\u2028 {n} times in Paris \0.",
                    at=at,
                    captions=("a 🐕",),
                    important=n == 2,
                ),
                Message(id=f"a{n}", text=f"Say hello to Toby, {n}!", role=Role.ASSISTANT, speaker="ai", at=at),
                Message(id=f"p{n}", text="x. " * 3000 if n == 3 else f"Lovelace {n}", speaker="Bén", at=at),
            ],
            session=f"s{n % 3}",
        )
    (turn,) = await bank._store.items(["turn:0:u0"])
    gist = {"id": "gist", "kind": ItemKind.GIST, "derived_from": (f"turn:0:u{count - 1}",), "label": "model"}
    late = Item(**{**_cells(turn), **gist})
    vector = np.eye(bank._store.dimension, dtype=np.float32)[0]
    entry = IndexedItem(item=late, vector=vector, terms=np.array([7], dtype=np.uint32), asks=True)
    await bank._store.commit(Changeset(items=(entry,)))


def _cells(item):
    return {name: getattr(item, name) for name in Item.__slots__}


async def lines_of(bank):
    return [line async for line in bank.export()]


def without_vectors(lines):
    values = [json.loads(line) for line in lines[1:]]
    for value in values:
        value.pop("vector", None)
    return values


def without_stream(values):
    """Windows go on from where forgotten messages have stood."""
    return [value for value in values if value["type"] != "stream"]


async def evidence(bank, text="When did I meet Ada?"):
    return [(e.id, round(e.score, 4)) for e in (await bank.recall(text, limit=5)).evidence]


async def test_an_export_makes_the_same_bank_again(tmp_path):
    async with opened(tmp_path) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank)
        lines = await lines_of(bank)
        info = await copy.import_(lines)
        assert (await lines_of(copy))[1:] == lines[1:]
        assert (info.messages, info.items) == ((await bank.info()).messages, (await bank.info()).items)
        assert await copy.messages() == await bank.messages()
        assert await evidence(copy) == await evidence(bank)
        assert [m.id for m in await copy.messages() if m.important] == ["u2"]
        assert [item.label for item in await copy._store.items(["gist", "turn:0:u0"])] == ["model", ""]
        # It goes on where the other stood.
        answer = Message(id="next", text="And then?", role=Role.ASSISTANT, speaker="ai", at=AT)
        for one in (bank, copy):
            await one.retain(answer, session="s1")
        assert (await lines_of(copy))[1:] == (await lines_of(bank))[1:]


async def test_an_export_without_labels_and_pins_is_read_still(tmp_path):
    async with opened(tmp_path) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank)
        header, *values = map(json.loads, await lines_of(bank))
        pins = [value.pop("important") for value in values if value["type"] == "message"]
        labels = [value["item"].pop("label") for value in values if value["type"] == "item"]
        assert (any(pins), set(labels)) == (True, {"model", ""})
        await copy.import_([json.dumps(value) for value in ({**header, "format": 2}, *values)])
        assert [m.text for m in await copy.messages()] == [m.text for m in await bank.messages()]
        assert not any(m.important for m in await copy.messages())
        assert [item.label for item in await copy._store.items(["gist"])] == [""]


async def test_an_export_survives_a_file(tmp_path):
    async with opened(tmp_path / "banks") as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank)
        (tmp_path / "bank.jsonl").write_text("".join(line + "\n" for line in await lines_of(bank)), "utf-8")
        with (tmp_path / "bank.jsonl").open(encoding="utf-8") as file:
            await copy.import_(file)
        assert (await lines_of(copy))[1:] == (await lines_of(bank))[1:]


async def test_an_import_with_another_embedder_embeds_anew(tmp_path):
    async with opened(tmp_path / "a") as one, opened(tmp_path / "b", 32) as two:
        bank, copy = await one.bank("bank"), await two.bank("bank")
        await fill(bank)
        await copy.import_(await lines_of(bank))
        assert without_vectors(await lines_of(copy)) == without_vectors(await lines_of(bank))
        assert (copy._store.embedder, copy._store.dimension) == ("hash-32", 32)
        fresh = await two.bank("fresh")
        await fill(fresh)
        values = [[json.loads(line) for line in await lines_of(one)] for one in (copy, fresh)]
        vectors = [{v["item"]["id"]: v["vector"] for v in of_one if "vector" in v} for of_one in values]
        del vectors[0]["gist"], vectors[1]["gist"]
        assert vectors[0] == vectors[1]


async def test_an_import_into_a_bank_with_messages_is_refused(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        await fill(bank)
        lines = await lines_of(bank)
        with pytest.raises(InvalidInput, match="not empty"):
            await bank.import_(lines)
        assert await lines_of(bank) == lines


def broken(lines, which, **cells):
    """The lines with cells of the first one of a type changed; its number."""
    at = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == which)
    value = json.loads(lines[at])
    for path, cell in cells.items():
        inner = value
        *parents, last = path.split("__")
        for parent in parents:
            inner = inner[parent]
        inner[last] = cell
    return [*lines[:at], json.dumps(value), *lines[at + 1 :]], at + 1


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("message", {"position": "first"}),
        ("message", {"at": "yesterday"}),
        ("message", {"at": "2024-05-01T00:00:00"}),
        ("message", {"role": "king"}),
        ("message", {"mood": "good"}),
        ("message", {"type": "massage"}),
        ("message", {"type": ["message"]}),
        ("message", {"type": {"message": 1}}),
        ("item", {"vector": "%%%"}),
        ("item", {"vector": "AAAA"}),
        ("item", {"vector": "AAAAAA=="}),
        ("item", {"item": 5}),
        ("item", {"item__occurrences": [{"words": "x"}]}),
        ("link", {"kind": "friendly"}),
        ("entity", {"first_seen": None}),
        ("bank", {"format": "new"}),
        ("bank", {"dimension": None}),
    ],
)
async def test_a_damaged_line_is_named(tmp_path, kind, cells):
    async with opened(tmp_path) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank, 2) if kind != "item" else await bank.retain(Message(text="Ada came in May.", at=AT))
        lines, number = broken(await lines_of(bank), kind, **cells)
        with pytest.raises(MalformedLine, match=f"line {number}") as caught:
            await copy.import_(lines)
        assert caught.value.line == number
        await memory.drop("copy")
        again = await memory.bank("copy")
        await again.import_(await lines_of(bank))
        assert (await lines_of(again))[1:] == (await lines_of(bank))[1:]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("hello", MalformedLine),
        ("[1]", MalformedLine),
        ("[" * 100_000, MalformedLine),
        ("", MalformedLine),
        ('{"text": "x"}', InvalidInput),
        ('{"type": "bank", "format": 9, "bank": "b", "embedder": "e", "dimension": 3}', InvalidInput),
    ],
)
async def test_what_is_no_export_is_refused(tmp_path, line, error):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        with pytest.raises(error):
            await bank.import_([line])
        assert (await bank.info()).messages == 0


@pytest.mark.parametrize(
    ("kind", "cells"),
    [("link", {"target": "turn:0:x"}), ("mention", {"entity": "e-x"}), ("item", {"item__sources": ["x"]})],
)
async def test_lines_that_point_nowhere_are_refused(tmp_path, kind, cells):
    async with opened(tmp_path) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank, 8)
        lines, _ = broken(await lines_of(bank), kind, **cells)
        with pytest.raises(InvalidInput, match="not in the bank"):
            await copy.import_(lines)


async def test_a_surrogate_in_an_import_is_refused(tmp_path):
    async with opened(tmp_path) as memory:
        bank, copy = await memory.bank("bank"), await memory.bank("copy")
        await fill(bank, 2)
        lines, _ = broken(await lines_of(bank), "message", text="half \ud83d")
        with pytest.raises(InvalidInput, match="surrogate"):
            await copy.import_(lines)


# Embedders


async def test_another_embedder_is_refused_until_the_bank_is_rebuilt(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        await fill(bank)
        before, found = without_vectors(await lines_of(bank)), await evidence(bank)
    async with opened(tmp_path, 32) as memory:
        with pytest.raises(EmbedderMismatch, match=r"hash-64.*hash-32.*recollect rebuild bank"):
            await memory.bank("bank")
        with pytest.raises(BankNotFound):
            await memory.rebuild("unknown")
        bank = await memory.rebuild("bank")
        assert without_vectors(await lines_of(bank)) == before
        assert (await bank.info()).embedder == "hash-32"
        assert (await bank.recall("Ada")).receipt.complete
        await bank.retain(Message(id="new", text="One more of Ada."), session="s")
        assert await memory.bank("bank") is bank
    async with opened(tmp_path, 32) as memory:
        assert "turn:0:new" in {e.id for e in (await (await memory.bank("bank")).recall("One more of Ada")).evidence}
    async with opened(tmp_path) as memory:
        bank = await memory.rebuild("bank")
        await bank.forget(messages="new")
        assert without_stream(without_vectors(await lines_of(bank))) == without_stream(before)
        assert await evidence(bank) == found


class Down(HashEmbedder):
    async def embed(self, texts, *, purpose="document"):
        raise ModelUnavailable("down")


async def test_a_rebuild_that_fails_leaves_the_bank_as_it_was(tmp_path):
    async with opened(tmp_path) as memory:
        await fill(await memory.bank("bank"))
        before = await lines_of(await memory.bank("bank"))
    async with Memory.open(tmp_path, embedder=Down(32)) as memory:
        with pytest.raises(ModelUnavailable):
            await memory.rebuild("bank")
    async with opened(tmp_path) as memory:
        assert await lines_of(await memory.bank("bank")) == before


async def test_a_process_that_had_the_bank_open_is_told_of_the_rebuild(tmp_path):
    async with opened(tmp_path) as old, opened(tmp_path, 32) as new:
        bank = await old.bank("bank")
        await fill(bank)
        await evidence(bank)
        rebuilt = await new.rebuild("bank")
        for attempt in (lambda: bank.retain(Message(text="x"), session="s"), lambda: bank.recall("Ada")):
            with pytest.raises(EmbedderMismatch, match=r"hash-64.*rebuilt.*hash-32"):
                await attempt()
        assert len(await bank.messages()) == 24
        assert await evidence(rebuilt)
        await rebuilt.retain(Message(text="x"), session="s")


class Meddler(HashEmbedder):
    """While it embeds for a rebuild, another process writes."""

    meddle = None

    async def embed(self, texts, *, purpose="document"):
        if self.meddle is not None:
            await self.meddle()
        return await super().embed(texts, purpose=purpose)


@pytest.mark.parametrize("writes", [1, 3])
async def test_what_is_written_during_a_rebuild_is_not_left_behind(tmp_path, writes):
    embedder, count = Meddler(32), iter(range(writes))
    async with opened(tmp_path) as old, Memory.open(tmp_path, embedder=embedder) as new:
        bank = await old.bank("bank")
        await fill(bank)

        async def meddle():
            if (number := next(count, None)) is not None:
                await bank.retain(Message(id=f"n{number}", text=f"Meanwhile {number}."), session="s9")

        embedder.meddle = meddle
        rebuilt = await new.rebuild("bank")
        found = {e.id for e in (await rebuilt.recall("Meanwhile")).evidence}
        assert found >= {f"turn:0:n{number}" for number in range(writes)}


async def test_what_is_forgotten_during_a_rebuild_is_left_out(tmp_path, monkeypatch):
    async with opened(tmp_path) as old, Memory.open(tmp_path, embedder=HashEmbedder(32)) as new:
        bank = await old.bank("bank")
        await bank.retain([Message(id="a", text="I like tea."), Message(id="b", text="I like rum.")], session="s")
        read, forgotten = SqliteStore.messages, []

        async def messages(self, ids=None):
            """The items have been read, and their messages have not."""
            if not forgotten:
                forgotten.extend((await bank.forget(messages="a")).messages)
            return await read(self, ids)

        monkeypatch.setattr(SqliteStore, "messages", messages)
        rebuilt = await new.rebuild("bank")
        assert forgotten == ["a"]
        assert [e.sources for e in (await rebuilt.recall("I like")).evidence] == [("b",)]


async def test_a_rebuild_ends_though_another_process_never_stops_writing(tmp_path):
    async with opened(tmp_path) as old, Memory.open(tmp_path, embedder=HashEmbedder(32)) as new:
        bank = await old.bank("bank")
        await fill(bank)
        written, begun = [], asyncio.Event()

        async def write():
            while True:
                try:
                    receipt = await bank.retain(Message(text=f"Meanwhile {len(written)}."), session="s9")
                except EmbedderMismatch:  # the vectors are those of the other embedder now
                    return
                written.extend(receipt.messages)
                begun.set()

        async def rebuild():
            await begun.wait()
            return await new.rebuild("bank")

        _, again = await asyncio.gather(write(), rebuild())
        assert {message.id for message in await again.messages()} >= set(written)


async def test_vectors_are_the_only_thing_a_rebuild_touches(tmp_path):
    async with opened(tmp_path) as memory:
        bank = await memory.bank("bank")
        await fill(bank)
        before = await lines_of(bank)
        await bank.rebuild()
        after = await lines_of(bank)
    assert without_vectors(after) == without_vectors(before)
    changed = [json.loads(a)["item"]["id"] for a, b in zip(after, before, strict=True) if a != b]
    assert changed == ["gist"]  # the only one whose vector was made up
