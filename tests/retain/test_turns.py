"""Messages into turns: who joins whom, what long messages are cut into, and that calls do not matter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect import Memory, Message, Role
from recollect.domain.items import Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.errors import NotABank
from recollect.retain.turns import (
    PASSAGE_CHARACTERS,
    TurnPart,
    group_turns,
    list_earlier_turns,
    render_message,
    restore_turn,
    split_parts,
)
from recollect.testing.models import HashEmbedder

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
PLACE = 1_000_000  # what a message is behind the one before it
ROLES = {"u": Role.USER, "a": Role.ASSISTANT, "s": Role.SYSTEM}


def message(position, letter, text="", **more):
    return StoredMessage(
        id=f"m{position}",
        session="s",
        position=position,
        speaker={"u": "Ada", "a": "assistant", "s": "system"}[letter],
        role=ROLES[letter],
        text=text or f"words {position}",
        captions=more.get("captions", ()),
        at=NOON + timedelta(minutes=position),
        recorded=NOON,
    )


def grouped(letters, **more):
    turns = group_turns([message(n, letter) for n, letter in enumerate(letters)], last=None, **more)
    return ["".join(str(part.message.position) for part in turn.parts) for turn in turns]


@pytest.mark.parametrize(
    ("letters", "turns"),
    [
        ("ua", ["01"]),
        ("uaua", ["01", "23"]),
        ("uu", ["0", "1"]),
        ("uaa", ["012"]),  # two answers in a row
        ("au", ["0", "1"]),  # an answer to nothing opens a turn
        ("aau", ["01", "2"]),
        ("sua", ["0", "12"]),
        ("sa", ["01"]),
        ("usa", ["0", "12"]),
        ("uas", ["01", "2"]),
        ("", []),
    ],
)
def test_an_answer_joins_what_it_answers(letters, turns):
    assert grouped(letters) == turns


def test_turns_have_places_and_ids():
    turns = group_turns([message(n, letter) for n, letter in enumerate("uauu")], last=None)
    assert [(turn.id, turn.order) for turn in turns] == [
        ("turn:0:m0", 0),
        ("turn:0:m2", 2 * PLACE),
        ("turn:0:m3", 3 * PLACE),
    ]
    assert turns[0].text == "words 0\nassistant: words 1"
    assert turns[1].text == "words 2"


def test_the_last_turn_is_given_again_only_with_an_answer_in_it():
    (last,) = group_turns([message(0, "u")], last=None)
    answered = group_turns([message(1, "a"), message(2, "u")], last=last)
    assert [(turn.id, turn.order, len(turn.parts)) for turn in answered] == [
        ("turn:0:m0", 0, 2),
        ("turn:0:m2", 2 * PLACE, 1),
    ]
    other = group_turns([message(1, "u"), message(2, "a")], last=last)
    assert [(turn.id, turn.order, len(turn.parts)) for turn in other] == [("turn:0:m1", PLACE, 2)]
    assert group_turns([], last=last) == []


def test_captions_are_spoken_after_the_words():
    assert render_message(message(0, "u", "Look!", captions=("a cat", "a \n dog"))) == "Look!\n[a cat]\n[a \n dog]"


WORDS = st.sampled_from(["word", "wörd. ", "\n", "\n\n", " ", ". ", "x" * 700, "字", "🐕"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(WORDS, st.integers(1, 4000)), max_size=6))
@example([("x", 6000)])
@example([("x", 6001)])
@example([("\n\n", 9001)])
def test_the_parts_of_a_long_message_are_its_words_exactly(runs):
    text = "".join(word * times for word, times in runs)[:40_000]
    long = message(0, "u", text or "-", captions=("a cat",))
    parts = list(split_parts(long))
    assert "".join(part.text for part in parts) == render_message(long)
    assert [part.number for part in parts] == list(range(len(parts)))
    assert all(0 < len(part.text) <= PASSAGE_CHARACTERS for part in parts)
    assert all(len(part.text) >= PASSAGE_CHARACTERS // 2 for part in parts[:-1])


@pytest.mark.parametrize("mark", ["\n\n", "\n", ". ", " "])
def test_a_long_message_is_cut_after_the_best_end_there_is(mark):
    weaker = {"\n\n": "a\nb. c d ", "\n": "a. b c ", ". ": "a b ", " ": "a"}[mark]
    text = (weaker * 6000)[:5000] + mark + (weaker * 6000)[:900] + "z" * 400
    first, second = split_parts(message(0, "u", text))
    assert first.text.endswith(mark)
    assert len(first.text) == 5000 + len(mark)
    assert second.number == 1


def test_long_messages_open_a_turn_a_passage():
    turns = group_turns([message(0, "u", "x" * 13_000), message(1, "a"), message(2, "u")], last=None)
    assert [(turn.id, turn.order, len(turn.parts)) for turn in turns] == [
        ("turn:0:m0", 0, 1),
        ("turn:1:m0", 1, 1),
        ("turn:2:m0", 2, 2),
        ("turn:0:m2", 2 * PLACE, 1),
    ]


def test_an_answer_that_would_make_too_much_opens_a_turn():
    long = "y" * PASSAGE_CHARACTERS
    turns = group_turns([message(0, "u"), *(message(n, "a", long) for n in (1, 2, 3))], last=None)
    assert [[part.message.position for part in turn.parts] for turn in turns] == [[0, 1], [2, 3]]
    assert all(len(turn.text) <= 2 * PASSAGE_CHARACTERS + 20 for turn in turns)


def test_the_rest_of_a_long_answer_opens_turns_of_its_own():
    turns = group_turns([message(0, "u"), message(1, "a", "y" * 7000), message(2, "a")], last=None)
    assert [(turn.id, [part.message.position for part in turn.parts]) for turn in turns] == [
        ("turn:0:m0", [0, 1]),
        ("turn:1:m1", [1, 2]),
    ]


@pytest.mark.parametrize("letters", ["uaa", "uu", "sa"])
@pytest.mark.parametrize("length", [10, 13_000])
def test_a_turn_is_made_again_from_its_item(letters, length):
    said = [message(n, letter, "z" * length if n == 0 else "") for n, letter in enumerate(letters)]
    for turn in group_turns(said, last=None):
        assert restore_turn(kept(turn), list(reversed(said))) == turn


def kept(turn):
    """The item that a turn is kept as."""
    return Item(
        id=turn.id,
        kind=ItemKind.TURN,
        text=turn.text,
        session="s",
        speaker="Ada",
        sources=tuple(part.message.id for part in turn.parts),
        mentioned=NOON,
        recorded=NOON,
        order=turn.order,
    )


@pytest.mark.parametrize(
    ("letters", "left", "rest"),
    [
        ("ua", [0], "0"),
        ("ua", [1], "1"),
        ("uaa", [0, 2], "02"),  # what stood between is gone; both were said to the same
        ("uaaa", [3, 1], "13"),
    ],
)
def test_what_is_left_of_a_turn_is_one_turn(letters, left, rest):
    said = [message(n, letter) for n, letter in enumerate(letters)]
    (turn,) = group_turns(said, last=None)
    less = restore_turn(kept(turn), [said[n] for n in left])
    assert "".join(str(part.message.position) for part in less.parts) == rest
    assert less.text.startswith(f"words {rest[0]}")


def test_what_is_left_of_a_passages_turn_is_that_passage():
    said = [message(0, "u", "x" * 13_000), message(1, "a")]
    turns = group_turns(said, last=None)
    assert restore_turn(kept(turns[2]), said[:1]).parts == turns[2].parts[:1]
    assert restore_turn(kept(turns[2]), said[1:]).id == "turn:0:m1"


@pytest.mark.parametrize("damage", [{"sources": ()}, {"id": "turn"}, {"id": "turn:x:m0"}])
def test_a_damaged_turn_is_told(damage):
    said = [message(0, "u")]
    (turn,) = group_turns(said, last=None)
    with pytest.raises(NotABank, match="damaged"):
        restore_turn(replace(kept(turn), **damage), said)


def test_what_a_turn_was_before_its_answers_were_recorded():
    at = [NOON + timedelta(hours=hours) for hours in (0, 0, 2, 1, 5)]  # one clock went back
    said = [replace(message(n, letter), recorded=at[n]) for n, letter in enumerate("uaaaa")]
    (turn,) = group_turns(said, last=None)
    assert [(until, len(then.parts)) for until, then in list_earlier_turns(turn)] == [(at[2], 2), (at[4], 4)]
    assert all(turn.text.startswith(then.text) for _, then in list_earlier_turns(turn))
    assert list_earlier_turns(group_turns(said[:2], last=None)[0]) == []


def test_a_part_is_a_message_with_some_of_its_words():
    said = message(0, "u", "hello")
    assert list(split_parts(said)) == [TurnPart(message=said, text="hello", number=0)]


LENGTHS = st.sampled_from([5, 40, 5990, 6001, 12_500])
TALKS = st.lists(st.tuples(st.sampled_from("uuaas"), LENGTHS), min_size=1, max_size=7)


async def dumped(talk, cuts):
    """A bank's items, without when they were recorded, after messages came in these calls."""
    said = [
        Message(
            text=f"Ada {n} " + ("went to Paris yesterday. " * length)[:length],
            speaker="Ada" if letter == "u" else "assistant",
            role=ROLES[letter],
            at=NOON + timedelta(minutes=n),
            id=f"m{n}",
        )
        for n, (letter, length) in enumerate(talk)
    ]
    edges = [0, *sorted(cut for cut in cuts if cut < len(said)), len(said)]
    async with Memory.open(":memory:", embedder=HashEmbedder(), clock=lambda: NOON) as memory:
        bank = await memory.bank("b")
        for start, end in pairwise(edges):
            await bank.retain(said[start:end], session="s")
        lines = [line async for line in bank.export()]
    return sorted(line for line in lines if '"type": "item"' in line or '"type": "message"' in line)


@settings(max_examples=8, deadline=None)
@given(TALKS, st.sets(st.integers(1, 6), min_size=1))
@example([("u", 5), ("a", 5), ("a", 5), ("u", 5)], {1, 2, 3})
@example([("u", 12_500), ("a", 6001), ("a", 5), ("s", 5), ("a", 5)], {1, 2, 3, 4})
async def test_streaming_makes_the_same_items_as_one_call(talk, cuts):
    assert await dumped(talk, cuts) == await dumped(talk, ())
