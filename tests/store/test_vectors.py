"""Vectors that cannot be stored or compared are refused wherever they come from, before anything is stored."""

import asyncio
import base64
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from recollect import Memory, Message
from recollect.domain.facts import Fact
from recollect.errors import InvalidInput, ModelUnavailable, NotABank
from recollect.models.checked_embedder import CheckedEmbedder
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder

NAN, INF = np.float32("nan"), np.float32("inf")


class Odd(HashEmbedder):
    """An embedder that returns something else as soon as it is told so."""

    change = None

    async def embed(self, texts, *, purpose="document"):
        vectors = await super().embed(texts, purpose=purpose)
        return vectors if self.change is None else self.change(vectors)


def fail(error):
    def change(vectors):
        raise error

    return change


def one_nan(vectors):
    vectors[-1, -1] = NAN
    return vectors


WRONG = {
    "nan": one_nan,
    "inf": lambda vectors: vectors + INF,
    "too large": lambda vectors: vectors * 1e6,
    "too large for 32 bits": lambda vectors: vectors.astype(np.float64) * 1e60,
    "short": lambda vectors: vectors[:, :-1],
    "long": lambda vectors: np.concatenate([vectors, vectors], 1),
    "fewer": lambda vectors: vectors[:-1],
    "more": lambda vectors: np.concatenate([vectors, vectors]),
    "flat": lambda vectors: vectors.ravel(),
    "none": lambda vectors: None,
    "words": lambda vectors: [["a", "vector"]] * len(vectors),
    "ragged": lambda vectors: [[1.0], [1.0, 2.0], *vectors.tolist()],
    "RuntimeError": fail(RuntimeError("out of memory")),
    "CancelledError": fail(asyncio.CancelledError()),
}


@pytest.fixture
async def embedder():
    return Odd()


@pytest.fixture
async def bank(embedder, tmp_path):
    async with Memory.open(tmp_path, embedder=embedder) as memory:
        bank = await memory.bank("ada")
        said = [Message(text="I have a dog", id="m1"), Message(text="It is called Toby", id="m2")]
        await bank.retain(said, session="s")
        yield bank


@pytest.mark.parametrize("how", WRONG)
async def test_an_embedder_that_misbehaves_is_named_and_nothing_is_stored(bank, embedder, how, assert_sound, tmp_path):
    before = [line async for line in bank.export()]
    version = await bank._store.version()
    embedder.change = WRONG[how]
    calls = {
        "recall": lambda: bank.recall("dog Toby"),
        "retain": lambda: bank.retain(Message(text="Bram has a cat"), session="s2"),
        "facts": lambda: bank.add_facts(Fact(subject="Toby", predicate="is", object="three years old")),
        "rebuild": bank.rebuild,
    }
    for name, call in calls.items():
        with pytest.raises(ModelUnavailable, match="hash-64") as caught:
            await call()
        assert "the embedder hash-64" in str(caught.value), name
    embedder.change = None
    assert [line async for line in bank.export()] == before
    assert await bank._store.version() == version
    assert (await bank.recall("dog Toby")).evidence
    assert_sound(tmp_path / "ada.bank")


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors: vectors.astype(np.float64),
        lambda vectors: vectors.astype(np.float16),
        lambda vectors: vectors.tolist(),
        lambda vectors: vectors * 0,
    ],
)
async def test_numbers_of_another_type_are_taken(bank, embedder, change):
    embedder.change = change
    await bank.retain(Message(text="Bram has a cat", id="m3"), session="s2")
    found = await bank.recall("cat")
    assert found.receipt.complete
    assert found.evidence[0].sources == ("m3",)


async def test_a_real_cancellation_of_an_embedder_stays_one():
    began = asyncio.Event()

    class Slow(HashEmbedder):
        async def embed(self, texts, *, purpose="document"):
            began.set()
            await asyncio.Event().wait()

    embedding = asyncio.create_task(CheckedEmbedder(Slow()).embed(["words"]))
    await began.wait()
    embedding.cancel()
    await asyncio.wait([embedding])
    assert embedding.cancelled()


@pytest.mark.parametrize("number", [NAN, INF, -INF, 1e5])
async def test_the_store_itself_refuses_such_vectors(bank, number):
    """Whoever commits: an import, an integration, a recipe of another package."""
    store = bank._store
    (changes,) = [part async for part in store.dump() if part.items]
    entry = changes.items[0]
    entry.vector[3] = number
    version = await store.version()
    with pytest.raises(InvalidInput, match=f"{entry.item.id}.*hash-64"):
        await store.commit(changes)
    with pytest.raises(InvalidInput, match=f"{entry.item.id}.*hash-64"):
        await store.replace_vectors("hash-64", 64, [(one.item.id, one.vector) for one in changes.items])
    wrong = [(one.item.id, one.vector[:-1]) for one in changes.items]
    with pytest.raises(InvalidInput, match="shape"):
        await store.replace_vectors("hash-64", 64, wrong)
    assert await store.version() == version


@pytest.mark.parametrize("number", [NAN, INF, 1e5])
async def test_an_export_with_such_a_vector_is_not_imported(bank, tmp_path, number):
    lines = [json.loads(line) async for line in bank.export()]
    item = next(line for line in lines if line["type"] == "item")
    vector = np.frombuffer(base64.b64decode(item["vector"]), dtype=np.float32).copy()
    vector[0] = number
    item["vector"] = base64.b64encode(vector.tobytes()).decode()
    async with Memory.open(tmp_path / "other", embedder=HashEmbedder()) as memory:
        copy = await memory.bank("copy")
        with pytest.raises(InvalidInput, match="hash-64"):
            await copy.import_(map(json.dumps, lines))
        info = await copy.info()
        assert (info.messages, info.items) == (0, 0)


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\x00\x7e" * 64, b"\x00\x7c" * 64, b"\x00\x3c" * 63])
async def test_a_damaged_vector_is_noticed_and_mended_by_a_rebuild(tmp_path, damage, assert_sound):
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        await bank.retain([Message(text=f"note {n}", id=f"m{n}") for n in range(3)], session="s")
    with closing(sqlite3.connect(tmp_path / "ada.bank", isolation_level=None)) as connection:
        connection.execute("UPDATE indexing SET vector = ? WHERE item = (SELECT max(item) FROM indexing)", (damage,))
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        ids = [entry.item.id async for part in bank._store.dump(vectors=False) for entry in part.items]
        for call in (
            lambda: bank.recall("note"),
            lambda: bank._store.vectors(ids),
            lambda: _all(bank.export()),
        ):
            with pytest.raises(NotABank, match=r"hash-64.*recollect rebuild"):
                await call()
        assert len(await bank.messages()) == 3
        await bank.rebuild()
        assert len((await bank.recall("note")).evidence) == 3
    assert_sound(tmp_path / "ada.bank")


async def test_a_damaged_vector_does_not_keep_anything_from_being_forgotten(tmp_path):
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        await bank.retain([Message(text=f"note {n}", id=f"m{n}") for n in range(3)], session="s")
    with closing(sqlite3.connect(tmp_path / "ada.bank", isolation_level=None)) as connection:
        connection.execute("UPDATE indexing SET vector = ?", (b"\x00",))
    banks = SqliteFolder(tmp_path)
    async with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        bank = await memory.bank("ada")
        receipt = await bank.forget(session="s")
        assert (len(receipt.messages), receipt.verified) == (3, True)
        await bank.retain(Message(text="new", id="m9"), session="s")
        assert (await bank.recall("new")).evidence[0].sources == ("m9",)
    await banks.close()


async def _all(lines):
    return [line async for line in lines]
