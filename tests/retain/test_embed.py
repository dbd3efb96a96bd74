"""What is embedded of a turn, and that it can be embedded again."""

from datetime import UTC, datetime

import numpy as np
import pytest

from recollect import Memory, Message, Role
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.errors import StaleWrite
from recollect.retain.embed import embed_items, embed_turns
from recollect.retain.turns import group_turns
from recollect.testing.models import HashEmbedder

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Axes(HashEmbedder):
    """Embeds each text along an axis of its own; nothing for what it was not told of."""

    def __init__(self, *texts):
        super().__init__(4)
        self._texts, self.calls = list(texts), []

    async def embed(self, texts, *, purpose="document"):
        self.calls.append((list(texts), purpose))
        return np.array(
            [[float(t == text) for t in self._texts] + [0.0] * (4 - len(self._texts)) for text in texts],
            dtype=np.float32,
        )


def stored(n, text, role=Role.USER):
    return StoredMessage(
        id=f"m{n}",
        session="s",
        position=n,
        speaker=role.value,
        role=role,
        text=text,
        captions=(),
        at=NOON,
        recorded=NOON,
    )


def turns(*messages):
    return group_turns(messages, last=None)


async def test_an_answer_counts_half():
    answered = turns(stored(0, "ask"), stored(1, "reply", Role.ASSISTANT))
    (vector,) = await embed_turns(answered, Axes("ask", "reply"))
    assert vector.tolist() == pytest.approx([1 / 1.25**0.5, 0.5 / 1.25**0.5, 0, 0], abs=1e-6)


async def test_several_answers_are_embedded_together_and_a_lone_message_alone():
    embedder = Axes("ask", "one\ntwo", "alone")
    said = [stored(0, "ask"), stored(1, "one", Role.ASSISTANT), stored(2, "two", Role.ASSISTANT), stored(3, "alone")]
    vectors = await embed_turns(turns(*said), embedder)
    assert embedder.calls == [(["ask", "alone", "one\ntwo"], "document")]
    assert vectors[0].tolist() == pytest.approx([1 / 1.25**0.5, 0.5 / 1.25**0.5, 0, 0], abs=1e-6)
    assert vectors[1].tolist() == [0, 0, 1, 0]


async def test_vectors_have_length_one_or_nothing():
    said = [stored(0, "unknown"), stored(1, "ask"), stored(2, "reply", Role.ASSISTANT), stored(3, "also unknown")]
    vectors = await embed_turns(turns(*said), Axes("ask", "reply"))
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([0, 1, 0])
    assert vectors.dtype == np.float32


async def test_items_are_embedded_again_as_they_were():
    embedder = HashEmbedder()
    said = [
        Message(text="Where is the red bicycle?", id="q"),
        Message(text="It stands in the garden.", role=Role.ASSISTANT, id="a1"),
        Message(text="Beside the door.", role=Role.ASSISTANT, id="a2"),
        Message(text="Look", captions=("a dog",), id="c"),
        Message(text="long words here. " * 900, id="long"),
        Message(text="", id="empty"),
    ]
    async with Memory.open(":memory:", embedder=embedder, clock=lambda: NOON) as memory:
        bank = await memory.bank("b")
        await bank.retain(said[:2], session="s")
        await bank.retain(said[2:], session="s")
        entries = [entry async for part in bank._store.dump() for entry in part.items]
        again = await embed_items([entry.item for entry in entries], bank._store, embedder)
    assert [entry.item.id for entry in entries] == [
        "turn:0:q",
        "turn:0:c",
        "turn:0:long",
        "turn:1:long",
        "turn:2:long",
        "turn:0:empty",
    ]
    for entry, vector in zip(entries, again, strict=True):
        np.testing.assert_allclose(entry.vector, vector, atol=1e-3, err_msg=entry.item.id)
    assert again[0].any()


async def test_items_that_are_no_turns_are_embedded_by_their_text():
    embedder = Axes("fact", "ask")
    async with Memory.open(":memory:", embedder=embedder, clock=lambda: NOON) as memory:
        bank = await memory.bank("b")
        await bank.retain(Message(text="ask", id="m"), session="s")
        (turn,) = await bank._store.items(["turn:0:m"])
        fact = Item(
            id="f",
            kind=ItemKind.FACT,
            text="fact",
            session="s",
            speaker="user",
            sources=("m",),
            mentioned=NOON,
            recorded=NOON,
        )
        vectors = await embed_items([fact, turn, fact], bank._store, embedder)
        assert vectors.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
        assert (await embed_items([], bank._store, embedder)).shape == (0, 4)
    assert IndexedItem(item=fact, vector=vectors[0], terms=np.empty(0, dtype=np.uint32)).asks is False


async def test_an_item_whose_message_was_forgotten_meanwhile_is_stale():
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = await memory.bank("b")
        await bank.retain(Message(id="a", text="I like tea."), session="s")
        items = await bank.items(ItemKind.TURN)
        await bank.forget(messages="a")
        with pytest.raises(StaleWrite):
            await embed_items(items, bank.parts().reader, HashEmbedder())
