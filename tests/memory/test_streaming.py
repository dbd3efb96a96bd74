"""How messages are split over calls, and how an index was filled, makes no difference to what is kept and found."""

import asyncio
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory, Message, Role
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.retain import turns
from recollect.retain.turns import group_turns, render_message, restore_turn, split_parts
from recollect.testing.models import HashEmbedder
from recollect.text.terms import extract_terms

AT = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = "I met Ada Lovelace in Paris yesterday? Toby adopted a dog\n\n on 3 May. Zürich 東京 and so on; ok".split(" ")
LONG = 60  # characters of a passage in these tests
SEVERAL = settings(max_examples=25, deadline=None)


@pytest.fixture(autouse=True, scope="module")
def _short_passages():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "PASSAGE_CHARACTERS", LONG)
        yield


texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join),
    st.integers(LONG - 5, 3 * LONG).map(lambda n: ("Ada went on. " * n)[:n]),
)
speakers = st.sampled_from([(Role.USER, "user"), (Role.ASSISTANT, "ai"), (Role.USER, "Ada"), (Role.SYSTEM, "system")])
said = st.lists(st.tuples(st.sampled_from("ab"), speakers, texts), min_size=1, max_size=12)


def messages_of(drawn):
    return [
        (session, Message(id=f"m{n}", text=text, role=role, speaker=speaker, at=AT + timedelta(minutes=n)))
        for n, (session, (role, speaker), text) in enumerate(drawn)
    ]


def opened():
    return Memory.open(":memory:", embedder=HashEmbedder(), clock=lambda: AT)


async def kept(bank):
    """Messages and items without the stores' numbers, and the vectors and terms of items.

    Mentions are left out: whose name "Ada" is may be known from who speaks later in a batch.
    """
    values = [part async for part in bank._store.dump()]
    entries = sorted((entry for part in values for entry in part.items), key=lambda entry: entry.item.id)
    return (
        sorted((message for part in values for message in part.messages), key=lambda message: message.id),
        [entry.item for entry in entries],
        [(entry.vector.tobytes(), entry.terms.tobytes(), entry.asks) for entry in entries],
    )


async def found(store, text, scope=None, *, arms=("semantic", "lexical")):
    """Scores by arm and item."""
    vector = (await HashEmbedder().embed([text]))[0]
    asked = SearchProbe(topic=text, vector=vector, terms=np.unique(extract_terms(text)), speakers=("Ada",))
    search = await store.search(asked, scope or Scope(), Weights())
    scores = {}
    for arm in arms:
        hits = await getattr(search, arm)(50)
        ids = [item.id for _, item in await search.load(hits.refs)]
        scores |= {(arm, id_): score for id_, score in zip(ids, hits.scores.tolist(), strict=True)}
    return scores


@SEVERAL
@given(said)
def test_one_message_at_a_time_is_the_same_as_one_batch(drawn):
    async def compare():
        async with opened() as first, opened() as second:
            streamed, batched = await first.bank("bank"), await second.bank("bank")
            for session, message in messages_of(drawn):
                await streamed.retain(message, session=session)
            for session in "ab":
                await batched.retain([m for s, m in messages_of(drawn) if s == session], session=session)
            for mine, theirs in zip(await kept(streamed), await kept(batched), strict=True):
                assert mine == theirs
            mine, theirs = [await found(one._store, "Did Ada meet Toby?") for one in (streamed, batched)]
            assert mine == pytest.approx(theirs, abs=1e-4)

    asyncio.run(compare())


@SEVERAL
@given(said, st.lists(st.booleans(), min_size=12, max_size=12))
def test_an_index_that_kept_up_is_the_same_as_one_that_was_loaded(drawn, looks):
    async def compare():
        async with opened() as memory:
            bank = await memory.bank("bank")
            store = bank._store
            for look, (session, message) in zip(looks, messages_of(drawn), strict=False):
                await bank.retain(message, session=session)
                if look:
                    await store.speakers()
            questions = [("Did Ada meet Toby?", Scope()), ("dog in Paris", Scope(sessions=("a",)))]
            kept_up = [await found(store, *question) for question in questions]
            store._index = store._make_index()
            for question, before in zip(questions, kept_up, strict=True):
                assert await found(store, *question) == pytest.approx(before, abs=1e-4)

    asyncio.run(compare())


async def test_an_answer_that_came_later_weighs_nothing_twice():
    async with opened() as one, opened() as two:
        streamed, batched = await one.bank("bank"), await two.bank("bank")
        said = [Message(id="m0", text="Ada went on. " * 4), Message(id="m1", text="Why?")]
        said.append(Message(id="m2", text="Because.", role=Role.ASSISTANT))
        for message in said:
            await streamed.retain(message, session="s")
        await batched.retain(said, session="s")
        mine, theirs = [await found(b._store, "Ada, why?", arms=("lexical",)) for b in (streamed, batched)]
        assert mine == pytest.approx(theirs, abs=1e-4)


def stored(text, *, role=Role.USER, captions=(), number=0):
    return StoredMessage(
        id=f"m{number}", session="s", position=number, speaker=role.value, role=role, text=text,
        captions=captions, at=AT, recorded=AT,
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(texts, st.text(max_size=50).map(lambda text: text * 9)),
    st.lists(st.text(max_size=20), max_size=2).map(tuple),
)
def test_a_long_message_is_cut_without_loss(text, captions):
    message = stored(text, captions=captions)
    parts = list(split_parts(message))
    assert "".join(part.text for part in parts) == render_message(message)
    assert [part.number for part in parts] == list(range(len(parts)))
    assert all(0 < len(part.text) <= LONG for part in parts) or parts[-1].text == render_message(message) == ""
    opened_turns = group_turns([message], last=None)
    assert len({turn.id for turn in opened_turns}) == len(opened_turns) == len(parts)


@SEVERAL
@given(said)
def test_a_turn_is_rebuilt_from_what_is_stored(drawn):
    async def compare():
        async with opened() as memory:
            bank = await memory.bank("bank")
            for session, message in messages_of(drawn):
                await bank.retain(message, session=session)
            messages = {message.id: message for message in await bank.messages()}
            items = [entry.item async for part in bank._store.dump() for entry in part.items]
            for item in items:
                turn = restore_turn(item, [messages[source] for source in item.sources])
                assert (turn.id, turn.text, turn.order) == (item.id, item.text, item.order)
            for session in "ab":
                in_turns = [s for i in sorted(items, key=lambda i: i.order) if i.session == session for s in i.sources]
                assert list(dict.fromkeys(in_turns)) == [s for s, m in messages.items() if m.session == session]

    asyncio.run(compare())
