"""From messages to a changeset, over a real store in memory."""

from datetime import UTC, datetime, timedelta

import pytest

from recollect import Memory, Message, Role
from recollect.errors import InvalidInput, MessageConflict
from recollect.testing.models import HashEmbedder

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def memory(clock):
    async with Memory.open(":memory:", embedder=HashEmbedder(), clock=clock) as memory:
        yield memory


@pytest.fixture
async def bank(memory):
    return await memory.bank("b")


def answer(text, **more):
    return Message(text=text, role=Role.ASSISTANT, speaker="assistant", **more)


async def items(bank):
    return {entry.item.id: entry.item async for part in bank._store.dump() for entry in part.items}


async def links(bank, *kinds):
    return {
        (link.source, link.target, link.kind.value)
        async for part in bank._store.dump()
        for link in part.links
        if not kinds or link.kind.value in kinds
    }


async def test_messages_are_kept_as_they_came_with_places_and_times(bank, clock):
    at = NOON - timedelta(days=3)
    receipt = await bank.retain(
        [Message(text="one", at=at, id="m1"), answer("two"), Message(text="three")], session="s"
    )
    clock.now = NOON + timedelta(days=1)
    again = await bank.retain(Message(text="four", id="m4"), session="s")
    other = await bank.retain(Message(text="else", id="x"), session="t")
    kept = await bank.messages()
    assert [(m.text, m.session, m.position) for m in kept] == [
        ("one", "s", 0),
        ("two", "s", 1),
        ("three", "s", 2),
        ("four", "s", 3),
        ("else", "t", 0),
    ]
    assert [m.at for m in kept] == [at, NOON, NOON, clock.now, clock.now]
    assert [m.recorded for m in kept] == [NOON] * 3 + [clock.now] * 2
    assert receipt.messages == tuple(m.id for m in kept[:3])
    assert len(set(receipt.messages)) == 3
    assert (receipt.items, again.messages, other.session) == (2, ("m4",), "t")


async def test_a_session_is_named_after_the_day_of_its_first_message(bank):
    tokyo = datetime(2024, 2, 3, 1, tzinfo=UTC) + timedelta(hours=0)
    assert (await bank.retain(Message(text="a"))).session == "2024-05-01"
    assert (await bank.retain([Message(text="b", at=tokyo), Message(text="c", at=NOON)])).session == "2024-02-03"
    assert (await bank.retain([Message(text="d"), Message(text="e", at=tokyo)])).session == "2024-05-01"
    assert (await bank.retain([], session=None)).session == "2024-05-01"
    with pytest.raises(InvalidInput, match="session"):
        await bank.retain(Message(text="x"), session=" ")


async def test_what_is_kept_already_is_skipped(bank):
    said = [Message(text="one", id="1"), answer("two", id="2")]
    await bank.retain(said, session="s")
    before = [line async for line in bank.export()]
    receipt = await bank.retain(said, session="s")
    assert (receipt.messages, receipt.skipped, receipt.items, receipt.links) == ((), 2, 0, 0)
    assert [line async for line in bank.export()] == before
    more = await bank.retain([*said, Message(text="three", id="3")], session="s")
    assert (more.messages, more.skipped) == (("3",), 2)
    assert [m.position for m in await bank.messages()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "session"),
    [({"text": "other"}, "s"), ({"speaker": "Ben"}, "s"), ({"captions": ("a cat",)}, "s"), ({}, "t")],
)
async def test_an_id_with_other_words_is_a_conflict_and_nothing_is_kept(bank, change, session):
    said = {"text": "one", "speaker": "Ada", "id": "m"}
    await bank.retain(Message(**said), session="s")
    with pytest.raises(MessageConflict, match=r"'m'.*session 's'"):
        await bank.retain([Message(text="new"), Message(**{**said, **change})], session=session)
    assert [m.text for m in await bank.messages()] == ["one"]


async def test_the_same_twice_in_one_call_is_kept_once_or_is_a_conflict(bank):
    receipt = await bank.retain([Message(text="x", id="m"), Message(text="x", id="m")], session="s")
    assert (receipt.messages, receipt.skipped) == (("m",), 1)
    with pytest.raises(MessageConflict):
        await bank.retain([Message(text="a", id="n"), Message(text="b", id="n")], session="s")


async def test_a_pinned_message_is_kept_so_and_is_the_same_message_without_its_pin(bank):
    pinned = Message(text="I am allergic to nuts.", id="1", important=True)
    await bank.retain([pinned, Message(text="two", id="2")], session="s")
    assert [m.important for m in await bank.messages()] == [True, False]
    again = [Message(text=pinned.text, id="1"), Message(text="two", id="2", important=True)]
    receipt = await bank.retain(again, session="s")
    assert (receipt.messages, receipt.skipped) == ((), 2)
    assert [m.important for m in await bank.messages()] == [True, False]


async def test_an_answer_that_comes_later_joins_its_turn(bank):
    await bank.retain(Message(text="Where?", id="q"), session="s")
    await bank.retain(Message(text="Meanwhile elsewhere", id="x"), session="t")
    receipt = await bank.retain(answer("There.", id="a"), session="s")
    assert receipt.items == 1
    turn = (await items(bank))["turn:0:q"]
    assert (turn.text, turn.sources, turn.order) == ("Where?\nassistant: There.", ("q", "a"), 0)
    assert len(await items(bank)) == 2
    assert turn.tokens > 3


async def test_tokens_are_counted(bank):
    await bank.retain([Message(text="short", id="a"), Message(text="a much longer message " * 20, id="b")], session="s")
    made = await items(bank)
    assert 0 < made["turn:0:a"].tokens < 5 < 60 < made["turn:0:b"].tokens


async def test_links_go_to_what_is_near_in_time_in_meaning_and_by_name(bank):
    await bank.retain(Message(text="Then I met Elizabeth Warrington.", id="1", at=NOON), session="a")
    await bank.retain(
        Message(text="Later I met Elizabeth Warrington.", id="2", at=NOON + timedelta(hours=1)), session="b"
    )
    receipt = await bank.retain(
        Message(text="Blue paint dries slowly", id="3", at=NOON + timedelta(days=90)), session="c"
    )
    assert receipt.links == 0
    assert await links(bank) == {
        ("turn:0:2", "turn:0:1", "temporal"),
        ("turn:0:2", "turn:0:1", "semantic"),
        ("turn:0:2", "turn:0:1", "entity"),
    }


TALK = [
    *(Message(text=f"Then I met Ada Lovelace, part {n}", id=f"m{n}", at=NOON + timedelta(minutes=n)) for n in range(5)),
    answer("fine", id="m5", at=NOON + timedelta(minutes=5)),
]


async def both_ways(memory, said):
    """The links of messages retained at once, and one by one."""
    at_once, streamed = await memory.bank("once"), await memory.bank("streamed")
    await at_once.retain(said, session="s")
    for one in said:
        await streamed.retain(one, session="s")
    return at_once, streamed


@pytest.mark.parametrize("kind", ["temporal", "entity", "semantic"])
async def test_links_do_not_depend_on_the_calls(memory, kind):
    at_once, streamed = await both_ways(memory, TALK[:5])
    assert await links(streamed, kind) == await links(at_once, kind)
    assert await links(at_once, kind)


@pytest.mark.parametrize("kind", ["temporal", "entity"])
async def test_links_do_not_depend_on_when_an_answer_came(memory, kind):
    at_once, streamed = await both_ways(memory, TALK)
    assert await links(streamed, kind) == await links(at_once, kind)


async def test_links_of_a_turn_that_is_answered_many_times(memory):
    said = [Message(text="red green blue yellow", id="q"), *(answer("red", id=f"a{n}") for n in range(6))]
    made = []
    for bank in (await memory.bank("once"), await memory.bank("streamed")):
        await bank.retain(Message(text="red green blue yellow", id="old"), session="t")
        for part in [said] if bank.name == "once" else [[one] for one in said]:
            await bank.retain(part, session="s")
        made.append(await links(bank, "semantic"))
    assert made[1] == made[0] == {("turn:0:q", "turn:0:old", "semantic")}


async def test_passages_and_messages_do_not_take_each_others_names(bank):
    await bank.retain(Message(text="A zebra crossing.", id="x#1"), session="s")
    await bank.retain(Message(text="word " * 2000, id="x"), session="s")
    recalled = await bank.recall("zebra crossing")
    assert recalled.evidence[0].sources == ("x#1",)


async def test_forgetting_an_answer_leaves_the_turns_in_order(bank):
    for n in range(4):
        await bank.retain([Message(text=f"question {n}", id=f"q{n}"), answer(f"answer {n}", id=f"a{n}")], session="s")
    await bank.forget(messages="a2")
    made = await items(bank)
    assert sorted(made, key=lambda id_: made[id_].order) == [f"turn:0:q{n}" for n in range(4)]
    assert len({item.order for item in made.values()}) == 4


async def test_an_answer_joins_the_last_turn_after_something_was_forgotten(bank):
    for n in range(4):
        await bank.retain([Message(text=f"question {n}", id=f"q{n}"), answer(f"answer {n}", id=f"a{n}")], session="s")
    await bank.forget(messages="a2")
    await bank.retain(answer("one more thing", id="late"), session="s")
    assert (await items(bank))["turn:0:q3"].sources == ("q3", "a3", "late")


async def test_a_session_began_with_its_earliest_message(memory):
    """Of one call; of several see below."""
    said = [Message(text="later", id="1", at=NOON), Message(text="earlier", id="2", at=NOON - timedelta(days=1))]
    bank = await memory.bank("once")
    await bank.retain(said, session="s")
    (session,) = [session async for part in bank._store.dump() for session in part.sessions]
    assert session.started == NOON - timedelta(days=1)


async def test_a_session_began_with_its_earliest_message_whatever_the_calls(bank):
    await bank.retain(Message(text="later", at=NOON), session="s")
    await bank.retain(Message(text="earlier", at=NOON - timedelta(days=1)), session="s")
    (session,) = [session async for part in bank._store.dump() for session in part.sessions]
    assert session.started == NOON - timedelta(days=1)


SWIFT = ["Then we read a novel by Jonathan Swift.", "Later we read another by Jonathon Swift."]


@pytest.fixture
async def swift(bank):
    for n, text in enumerate(SWIFT):
        await bank.retain(Message(text=text, id=f"m{n}", at=NOON + timedelta(hours=n)), session="s")
    return bank


async def entities(bank):
    """Which items mention which name's entity."""
    tables = await bank._store.entity_tables()
    return {
        entity.name: {(mention.item, mention.surface) for mention in await bank._store.mentions(entity.id)}
        for entity in tables.entities
    }


async def test_a_mistyped_name_is_merged_and_logged(swift):
    assert await entities(swift) == {
        "Jonathan Swift": {("turn:0:m0", "Jonathan Swift"), ("turn:0:m1", "Jonathon Swift")}
    }
    (merge,) = await swift.merges()
    assert (merge.surface, merge.undone, merge.at) == ("Jonathon Swift", None, NOON + timedelta(hours=1))
    assert merge.score >= 0.6
    assert ("turn:0:m1", "turn:0:m0", "entity") in await links(swift)


async def test_an_undone_merge_gives_the_name_its_own_entity_for_good(swift, clock):
    (merge,) = await swift.merges()
    clock.now = NOON + timedelta(days=1)
    undone = await swift.undo_merge(merge.id)
    assert (undone.id, undone.undone) == (merge.id, clock.now)
    assert await swift.merges() == (undone,)
    apart = {"Jonathan Swift": {("turn:0:m0", "Jonathan Swift")}, "Jonathon Swift": {("turn:0:m1", "Jonathon Swift")}}
    assert await entities(swift) == apart
    with pytest.raises(InvalidInput, match="undone"):
        await swift.undo_merge(merge.id)
    await swift.retain(Message(text="Then I met Jonathon Swift, and Jonathan Swift.", id="m2"), session="s")
    assert await entities(swift) == {name: {*said, ("turn:0:m2", name)} for name, said in apart.items()}
    assert await swift.merges() == (undone,)


async def test_an_undone_merge_is_remembered_by_a_bank_that_is_opened_anew(tmp_path):
    for step in range(3):
        async with Memory.open(tmp_path, embedder=HashEmbedder(), clock=lambda: NOON) as memory:
            bank = await memory.bank("b")
            if step == 0:
                await bank.retain([Message(text=text) for text in SWIFT], session="s")
                (merge,) = await bank.merges()
                await bank.undo_merge(merge.id)
            else:
                await bank.retain(Message(text=f"In {step} we saw Jonathon Swift again."), session=f"s{step}")
            assert len(await bank.merges()) == 1
            assert len(await entities(bank)) == 2


async def test_a_merge_that_is_not_there_cannot_be_undone(bank):
    with pytest.raises(InvalidInput, match="no merge 'nothing'"):
        await bank.undo_merge("nothing")


async def test_an_export_with_an_open_time_is_taken_in_again(memory):
    bank, copy = await memory.bank("b"), await memory.bank("copy")
    await bank.retain(Message(text="I lived in Paris until June 2022.", id="m"), session="s")
    occurred = (await items(bank))["turn:0:m"].occurred
    assert occurred.start is None
    await copy.import_([line async for line in bank.export()])
    assert await items(copy) == await items(bank)


async def sources(bank):
    made = (await items(bank)).values()
    return [item.sources for item in sorted(made, key=lambda item: (item.session, item.order))]


async def exchanges(bank):
    await bank.retain([Message(text="one?", id="q0"), answer("yes", id="a0"), answer("sure", id="b0")], session="s")
    await bank.retain([Message(text="two?", id="q1"), answer("no", id="a1")], session="s")


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        (["q0"], [("a0", "b0"), ("q1", "a1")]),
        (["b0"], [("q0", "a0"), ("q1", "a1")]),
        (["a0"], [("q0", "b0"), ("q1", "a1")]),
        (["q0", "a0"], [("b0",), ("q1", "a1")]),
        (["q1"], [("q0", "a0", "b0"), ("a1",)]),
        (["a0", "b0", "q1"], [("q0",), ("a1",)]),
    ],
)
async def test_what_shared_a_turn_with_what_is_forgotten_keeps_its_place(bank, gone, left):
    await exchanges(bank)
    await bank.forget(messages=gone)
    assert await sources(bank) == left
    await bank.retain(answer("more", id="late"), session="s")
    assert (await sources(bank))[-1] == (*left[-1], "late")


async def test_forgetting_leaves_the_turns_beside_it_alone(bank):
    """The answer's second passage stands in a turn with another answer, which must not be lost from it."""
    long = "word " * 1500
    await bank.retain([Message(text="Tell me.", id="q"), answer(long, id="a"), answer("End.", id="b")], session="s")
    before = await items(bank)
    assert before["turn:1:a"].sources == ("a", "b")
    await bank.forget(messages="q")
    after = await items(bank)
    assert set(after) == {"turn:0:a", "turn:1:a"}
    assert after["turn:1:a"] == before["turn:1:a"]


async def test_forgetting_leaves_every_passage_in_one_turn(bank):
    """An answer's passages, and the answers around it: each stands in one turn before and after."""
    long = "word " * 3000
    said = [Message(text="Tell me.", id="q"), answer("Well.", id="a"), answer(long, id="b"), answer("End.", id="c")]
    await bank.retain(said, session="s")
    passages = sorted(item.text for item in (await items(bank)).values())
    assert await sources(bank) == [("q", "a", "b"), ("b",), ("b", "c")]
    await bank.forget(messages="a")
    assert await sources(bank) == [("q", "b"), ("b",), ("b", "c")]
    await bank.forget(messages="q")
    assert await sources(bank) == [("b",), ("b",), ("b", "c")]
    await bank.forget(messages="c")
    texts = [item.text for item in sorted((await items(bank)).values(), key=lambda item: item.order)]
    assert "".join(texts) == long
    assert len(texts) == len(passages)


async def test_what_is_made_anew_has_the_stages_it_had(bank, clock):
    await bank.retain([Message(text="one?", id="q"), answer("sure", id="a")], session="s")
    clock.now = NOON + timedelta(days=1)
    await bank.retain(answer("yes", id="b"), session="s")
    before = (await items(bank))["turn:0:q"]
    assert before.as_of(NOON).text == "one?\nassistant: sure"
    await bank.forget(messages="a")
    after = (await items(bank))["turn:0:q"]
    assert (after.text, after.as_of(NOON).text) == ("one?\nassistant: yes", "one?")
    assert (after.recorded, after.as_of(NOON).sources, len(after.stages)) == (NOON, ("q",), 1)
    assert 0 < after.as_of(NOON).tokens < after.tokens < before.tokens


async def test_what_is_made_anew_was_known_all_along(bank, clock):
    await exchanges(bank)
    clock.now = NOON + timedelta(days=9)
    await bank.forget(messages="b0")
    assert (await items(bank))["turn:0:q0"].recorded == NOON


async def test_what_is_skipped_writes_nothing(bank):
    await bank.retain(Message(text="one", id="m"), session="s")
    version = (await bank._store.look_up([], [])).version
    await bank.retain(Message(text="one", id="m"), session="s")
    assert (await bank._store.look_up([], [])).version == version
