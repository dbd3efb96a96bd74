"""Stretches of a conversation: where they are cut, whose words they hold, and what of them is repeated."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.messages import Role, StoredMessage
from recollect.retain.chunks import Chunk, cut_by_budget, find_quoted

AT = datetime(2023, 7, 9, 10, tzinfo=UTC)


def message(n, text="hello", *, speaker="Ada", role=Role.USER, session="s", captions=()):
    at = AT + timedelta(minutes=n)
    return StoredMessage(
        id=f"m{n}",
        session=session,
        position=n,
        speaker=speaker,
        role=role,
        text=text,
        captions=captions,
        at=at,
        recorded=at,
    )


def chunk(*messages, context=(), agent="Iris", named=True):
    return Chunk(context=context, messages=messages, tokens=30, agent=agent, names_agent=named)


@given(st.lists(st.integers(0, 60)), st.integers(1, 50))
def test_every_message_stands_in_one_chunk_and_the_budget_holds(costs, budget):
    cuts = cut_by_budget(costs, budget)
    assert [place for one in cuts for place in one] == list(range(len(costs)))
    assert all(sum(costs[place] for place in one) <= budget or len(one) == 1 for one in cuts)
    assert all(len(one) for one in cuts)


@given(st.lists(st.integers(1, 60), min_size=2), st.integers(1, 50))
def test_no_chunk_ends_before_it_must(costs, budget):
    cuts = cut_by_budget(costs, budget)
    for one, after in pairwise(cuts):
        assert sum(costs[place] for place in one) + costs[after.start] > budget


def test_chunks_by_hand():
    assert cut_by_budget([5, 5, 1, 99, 2, 3], 10) == [range(2), range(2, 3), range(3, 4), range(4, 6)]
    assert cut_by_budget([], 10) == []


def test_a_chunk_is_named_after_its_place_and_known_by_its_messages():
    line = [message(n) for n in range(5)]
    one = chunk(*line[2:], context=tuple(line[:2]))
    assert (one.subject, one.all_messages) == ("s#2", tuple(line))
    assert one.key == replace(one, context=()).key != replace(one, messages=tuple(line[3:])).key
    assert one.key == chunk(*(replace(m, text="other words") for m in line[2:])).key
    assert one.key != chunk(*(replace(m, session="t") for m in line[2:])).key


def test_whose_words_they_are():
    bot, iris, ada = message(0, role=Role.ASSISTANT), message(1, speaker="iris"), message(2)
    of = chunk(bot, iris, ada)
    assert [of.is_by_agent(one) for one in of.all_messages] == [True, True, False]
    assert not chunk(ada, agent="Ada", named=False).is_by_agent(ada)


def test_messages_are_cited_by_number_and_only_those_that_are_shown():
    of = chunk(message(1), message(2), context=(message(0),))
    assert [one.id for one in of.get_messages((3, 1, 3))] == ["m2", "m0"]
    of.require_numbers((1, 2), "gist 1")
    with pytest.raises(ValueError, match="gist 2 names message 4; they are numbered 1 to 3"):
        of.require_numbers((2, 4), "gist 2")
    with pytest.raises(ValueError, match="gist 3 comes from messages of the context alone"):
        of.require_numbers((1,), "gist 3")


@pytest.mark.parametrize(
    ("text", "others", "found"),
    [
        ("Bob's account code is QZX-99812-KLMN.", ["My code is QZX-99812-KLMN", "Nice"], [1]),
        ("Ada lives in BEECH  lane, next to the old mill.", ["in Beech Lane, next\nto the mill"], [1]),
        ("Ada lives in Beech Lane, next to the old mill.", ["Beech Lane, next to"], []),
        ("Ada's number is 0114 496 0123.", ["no", "call 01144960123", "or 0114-496-0123"], [2, 3]),
        ("Ada's number is 01144960123.", ["call 0114 496 0123"], [1]),
        ("She paid 1140 in 2022.", ["1140 in 2022?"], []),
        ("Ada said that her account code is known.", ["that her account code is known"], []),
        ("Ada's PIN is 445566.", ["445566?"], []),
        ("", ["", "Hi"], []),
    ],
)
def test_a_message_that_is_repeated_but_not_cited_is_found(text, others, found):
    cited = message(0, "Well, Ada said that her account code is known. 445566.")
    shown = [cited, *(message(n, words) for n, words in enumerate(others, start=1))]
    assert [one.position for one in find_quoted(text, [cited], shown)] == found


def test_a_message_of_digits_alone_is_read_in_passing():
    shown = [message(0), message(1, "1" * 300_000), message(2, f"call 0114 496 0123{' 7' * 100_000}")]
    assert find_quoted("Ada's number is 01144960123.", shown[:1], shown) == []


def test_what_a_picture_shows_is_repeated_too():
    shown = [message(0), message(1, captions=("a letter from the clinic in Leeds",))]
    assert find_quoted("Ada has a letter from the clinic in Leeds.", shown[:1], shown) == shown[1:]
