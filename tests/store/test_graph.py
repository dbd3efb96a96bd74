"""Past its threshold a bank searches through a graph, which is kept beside it: as good as exact, and never stale."""

import json
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from recollect import Memory, Message
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.items import IndexedItem
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.store.index import bank_index
from recollect.store.index.vectors import _Graph
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)
ROWS, FROM = 1200, 200
EMBEDDER = HashEmbedder(128)
WORDS = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in "rstvwxz"]


def memory_of(folder, graph_from=FROM):
    memory = Memory.open(folder, embedder=EMBEDDER)
    memory._stores = SqliteFolder(folder, graph_from=graph_from)
    return memory


def text(rng):
    topic = rng.choices(WORDS, k=3)
    return " ".join(rng.choices(topic, k=4) + rng.choices(WORDS, k=6))


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(5)
    return [text(rng) for _ in range(ROWS)]


@pytest.fixture(scope="module")
def made(tmp_path_factory, texts):
    """A folder with a large bank and its graph, made once."""
    import asyncio

    async def make(folder):
        async with memory_of(folder) as memory:
            bank = await memory.bank("bank")
            for start in range(0, ROWS, 100):
                said = [
                    Message(id=f"m{n}", text=texts[n], at=AT + timedelta(hours=n)) for n in range(start, start + 100)
                ]
                await bank.retain(said, session=f"s{start}")
            await bank.recall("anything")

    folder = tmp_path_factory.mktemp("made")
    asyncio.run(make(folder))
    return folder


@pytest.fixture
def folder(tmp_path, made):
    import shutil

    return shutil.copytree(made, tmp_path / "banks")


@pytest.fixture
def added(monkeypatch):
    """How many vectors were put into graphs."""
    counts = []
    fill = _Graph.fill

    def counting(self, matrix):
        counts.append(len(matrix) - self._filled)
        fill(self, matrix)

    monkeypatch.setattr(_Graph, "fill", counting)
    return counts


async def vectors_of(texts):
    return await EMBEDDER.embed(texts)


async def questions(count=40, seed=9):
    rng = random.Random(seed)
    return await vectors_of([text(rng) for _ in range(count)])


def probe_of(vector):
    return SearchProbe(topic="", vector=vector, terms=np.empty(0, np.uint32))


async def closest(bank, vector):
    """The id of the item nearest to a vector, whatever surrounds it."""
    search = await bank._store.search(probe_of(vector), Scope(), Weights(surroundings=0))
    ((_, item), *_) = await search.load((await search.semantic(1)).refs)
    return item.id


async def overlap(one, other, k=10, weights=None):
    """Which share of the other's best the first one finds, on the average."""
    shares = []
    for vector in await questions():
        asked = probe_of(vector)
        ids = []
        for bank in (one, other):
            search = await bank._store.search(asked, Scope(), weights or Weights())
            ids.append({item.id for _, item in await search.load((await search.semantic(k)).refs)})
        assert len(ids[0]) == k
        shares.append(len(ids[0] & ids[1]) / k)
    return float(np.mean(shares))


async def test_the_graph_finds_what_an_exact_search_finds(folder):
    async with memory_of(folder) as graph, memory_of(folder, -1) as exact:
        one, other = await graph.bank("bank"), await exact.bank("bank")
        assert await overlap(one, other, weights=Weights(surroundings=0)) >= 0.95


async def test_with_surroundings_the_graph_finds_what_an_exact_search_finds(folder):
    async with memory_of(folder) as graph, memory_of(folder, -1) as exact:
        share = await overlap(await graph.bank("bank"), await exact.bank("bank"), k=20)
        assert share >= 0.95


async def test_inside_a_scope_the_search_is_exact(folder):
    async with memory_of(folder) as graph, memory_of(folder, -1) as exact:
        for scope in ({"sessions": ["s100", "s300"]}, {"exclude": ["m5"]}):
            found = [(await (await m.bank("bank")).recall("basabor", limit=40, **scope)) for m in (graph, exact)]
            assert [e.id for e in found[0].evidence] == [e.id for e in found[1].evidence]


async def test_the_saved_graph_is_used_again(folder, added, texts):
    async with memory_of(folder) as memory:
        bank = await memory.bank("bank")
        found = await bank.recall(texts[700], limit=3)
        assert found.evidence[0].sources == ("m700",)
    assert sum(added) == 0


async def test_what_another_process_wrote_after_it_was_saved_is_found(folder, added):
    async with memory_of(folder, -1) as other:
        await (await other.bank("bank")).retain(Message(id="new", text="xylophone quagmire", at=AT), session="later")
    async with memory_of(folder) as memory:
        bank = await memory.bank("bank")
        assert await closest(bank, (await vectors_of(["xylophone quagmire"]))[0]) == "turn:0:new"
        assert sum(added) == 1
        async with memory_of(folder, -1) as exact:
            assert await overlap(bank, await exact.bank("bank"), weights=Weights(surroundings=0)) >= 0.95


async def rewritten(bank, id_, words):
    """Put an item in place of itself that means other words; gives their vector."""
    (item,) = await bank._store.items([id_])
    vector = (await vectors_of([words]))[0]
    await bank._store.commit(Changeset(items=(IndexedItem(item=item, vector=vector, terms=np.array([1], np.uint32)),)))
    return vector


async def test_what_was_rewritten_is_put_in_anew_and_the_rest_of_the_graph_is_used(folder, added, texts):
    before = (await vectors_of([texts[5]]))[0]
    async with memory_of(folder, -1) as other:
        vector = await rewritten(await other.bank("bank"), "turn:0:m5", "zebra giraffe")
    async with memory_of(folder) as memory:
        bank = await memory.bank("bank")
        assert await closest(bank, vector) == "turn:0:m5"
        assert await closest(bank, before) != "turn:0:m5"
        assert sum(added) == 1
        # Once more, while the graph is in use: what is saved holds two points that stand for nothing.
        again = await rewritten(bank, "turn:0:m5", "mongoose okapi")
        assert await closest(bank, again) == "turn:0:m5"
        assert sum(added) == 2
    added.clear()
    async with memory_of(folder) as memory, memory_of(folder, -1) as exact:
        bank, other = await memory.bank("bank"), await exact.bank("bank")
        assert await closest(bank, again) == "turn:0:m5"
        assert await closest(bank, vector) != "turn:0:m5"
        assert await closest(bank, (await vectors_of([texts[700]]))[0]) == "turn:0:m700"
        found = await (await bank._store.search(probe_of(again), Scope(), Weights())).semantic(ROWS)
        assert len(set(found.refs.tolist())) == len(found.refs) > ROWS // 2
        assert await overlap(bank, other, weights=Weights(surroundings=0)) >= 0.95
    assert sum(added) == 0


async def test_what_was_superseded_is_not_found_through_a_graph_from_before(folder, added, texts):
    vector = (await vectors_of([texts[5]]))[0]
    async with memory_of(folder, -1) as other:
        bank = await other.bank("bank")
        assert await closest(bank, vector) == "turn:0:m5"
        await bank._store.commit(Changeset(supersedes=(Supersession(item="turn:0:m5", at=AT),)))
    async with memory_of(folder) as memory:
        assert await closest(await memory.bank("bank"), vector) != "turn:0:m5"
    assert sum(added) == 1


async def test_a_graph_of_mostly_dead_points_is_made_anew(folder, added, monkeypatch):
    monkeypatch.setattr(bank_index, "is_wasteful", lambda dead, rows: dead > 10)
    async with memory_of(folder, -1) as other:
        bank = await other.bank("bank")
        items = await bank._store.items([f"turn:0:m{n}" for n in range(11)])
        vectors = await vectors_of([f"zebra {item.id}" for item in items])
        entries = [
            IndexedItem(item=item, vector=vector, terms=np.array([1], np.uint32))
            for item, vector in zip(items, vectors, strict=True)
        ]
        await bank._store.commit(Changeset(items=tuple(entries)))
    async with memory_of(folder) as memory:
        assert await closest(await memory.bank("bank"), vectors[3]) == "turn:0:m3"
    assert sum(added) == ROWS


async def test_a_graph_from_before_something_was_forgotten_is_not_used(folder, added, texts):
    kept = {name: (folder / name).read_bytes() for name in ("bank.hnsw", "bank.hnsw.json")}
    async with memory_of(folder, -1) as other:
        await (await other.bank("bank")).forget(messages="m5")
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    async with memory_of(folder) as memory:
        assert await closest(await memory.bank("bank"), (await vectors_of([texts[5]]))[0]) != "turn:0:m5"
    assert sum(added) == ROWS - 1


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def scramble(file):
    """In its middle: usearch reads such a graph without complaint, and may then take the process down."""
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = random.Random(1).randbytes(64)
    file.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        scramble,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"x" * 999),
        lambda f: f.unlink(),
    ],
    ids=["cut", "scrambled", "emptied", "something else", "gone"],
)
@pytest.mark.parametrize("name", ["bank.hnsw", "bank.hnsw.json"])
async def test_a_damaged_graph_is_made_anew(folder, added, texts, name, damage):
    damage(folder / name)
    async with memory_of(folder) as memory:
        assert (await (await memory.bank("bank")).recall(texts[700], limit=3)).evidence[0].sources == ("m700",)
        assert sum(added) == ROWS
    added.clear()
    async with memory_of(folder) as memory:
        await (await memory.bank("bank")).recall(texts[700])
    assert sum(added) == 0


@pytest.mark.parametrize(
    "note",
    [{"epoch": 5}, {"version": 1}, {"points": ""}, {"points": 9}, {"points": "x"}, {"version": "x"}, {"digest": ""}],
)
async def test_a_note_that_does_not_fit_is_not_believed(folder, added, texts, note):
    file = folder / "bank.hnsw.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **note}))
    async with memory_of(folder) as memory:
        assert (await (await memory.bank("bank")).recall(texts[3], limit=3)).evidence[0].sources == ("m3",)
    assert sum(added) == ROWS


async def test_a_graph_of_another_bank_is_not_used(folder, added, texts):
    async with memory_of(folder) as memory:
        other = await memory.bank("other")
        await other.retain([Message(id=f"o{n}", text=t) for n, t in enumerate(reversed(texts[:300]))], session="s")
        await other.recall("x")
    added.clear()
    for ending in (".hnsw", ".hnsw.json"):
        (folder / f"other{ending}").replace(folder / f"bank{ending}")
    async with memory_of(folder) as memory:
        assert (await (await memory.bank("bank")).recall(texts[3], limit=3)).evidence[0].sources == ("m3",)


async def test_a_graph_that_cannot_be_kept_keeps_nobody_from_closing(folder, monkeypatch):
    monkeypatch.setattr(_Graph, "save", lambda self, path: (_ for _ in ()).throw(RuntimeError("no room")))
    async with memory_of(folder) as memory:
        await (await memory.bank("bank")).recall("x")
    assert (folder / "bank.bank").exists()
    assert not (folder / "bank.hnsw.json").exists()


@pytest.fixture
def without_library(monkeypatch):
    monkeypatch.setattr("recollect.store.index.vectors.GRAPH_LIBRARY", "no_such_library")


async def test_without_the_extra_the_search_is_exact_and_says_so(folder, without_library, texts, caplog):
    async with memory_of(folder) as memory, memory_of(folder, -1) as exact:
        bank, other = await memory.bank("bank"), await exact.bank("bank")
        assert await overlap(bank, other) == 1.0
        found = await bank.recall(texts[700], limit=3)
        assert found.evidence[0].sources == ("m700",)
        (semantic,) = [arm for arm in found.receipt.arms if arm.arm == "semantic"]
        assert semantic.note.startswith(f"the bank has {ROWS:,} items")
        assert "recollect[hnsw]" in semantic.note
        assert found.receipt.complete
        assert (await bank.info()).notes == (semantic.note,)
        assert not any(arm.note for arm in (await other.recall(texts[700])).receipt.arms if arm.arm == "semantic")
        assert (await other.info()).notes == ()
    assert [record.message for record in caplog.records if "hnsw" in record.message] == [semantic.note]


async def test_the_warning_comes_when_a_bank_grows_past_the_threshold(tmp_path, without_library, texts, caplog):
    async with memory_of(tmp_path) as memory:
        bank = await memory.bank("bank")
        for start in range(0, FROM + 20, 10):
            assert bool(caplog.records) == (start > FROM)
            await bank.retain([Message(id=f"m{n}", text=texts[n]) for n in range(start, start + 10)], session="s")
    assert len(caplog.records) == 1


async def test_a_saved_graph_waits_for_the_extra(folder, added, texts):
    kept = (folder / "bank.hnsw").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recollect.store.index.vectors.GRAPH_LIBRARY", "no_such_library")
        async with memory_of(folder) as memory:
            bank = await memory.bank("bank")
            await bank.retain(Message(id="new", text="xylophone quagmire", at=AT), session="later")
            assert (await bank.recall(texts[700], limit=3)).evidence[0].sources == ("m700",)
    assert (folder / "bank.hnsw").read_bytes() == kept
    assert sum(added) == 0
    async with memory_of(folder) as memory:
        bank = await memory.bank("bank")
        assert await closest(bank, (await vectors_of(["xylophone quagmire"]))[0]) == "turn:0:new"
        assert (await bank.info()).notes == ()
    assert sum(added) == 1
