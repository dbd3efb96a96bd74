"""E-mem's windows (equations 3 and 4): on values worked out by hand, and whatever the lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.windows import count_started_windows, find_crossings, list_open_windows


def edges(crossed):
    return (
        [(edge.window, edge.token) for edge in crossed.opened],
        [(edge.window, edge.token) for edge in crossed.sealed],
    )


@pytest.mark.parametrize(
    ("before", "tokens", "opened", "sealed"),
    [
        (0, 1, [(0, 0)], []),  # x1 opens E1
        (0, 7, [(0, 0)], []),  # x1 to x7: E2 begins with x8
        (0, 8, [(0, 0), (1, 7)], []),
        (9, 1, [], [(0, 1)]),  # x10 is E1's last
        (10, 3, [], []),
        (10, 6, [(2, 4)], []),  # x15 opens E3
        (16, 1, [], [(1, 1)]),  # x17 is E2's last
        (6, 12, [(1, 1), (2, 8)], [(0, 4), (1, 11)]),
        (5, 0, [], []),
    ],
)
def test_equation_3_by_hand(before, tokens, opened, sealed):
    """L = 10 and an overlap of 3, so S = 7: E1 = x1..x10, E2 = x8..x17, E3 = x15..x24."""
    assert edges(find_crossings(before, tokens, length=10, stride=7)) == (opened, sealed)


@pytest.mark.parametrize(
    ("tokens", "still_open"), [(0, []), (7, [0]), (8, [0, 1]), (9, [0, 1]), (10, [1]), (15, [1, 2]), (17, [2])]
)
def test_equation_4_by_hand(tokens, still_open):
    """When E1 is full, after x10, the next one is there already, with the last three tokens of E1 in it."""
    assert list(list_open_windows(tokens, length=10, stride=7)) == still_open


def test_without_an_overlap_a_window_ends_where_the_next_begins():
    assert edges(find_crossings(4, 1, length=5, stride=5)) == ([], [(0, 1)])
    assert list(list_open_windows(5, length=5, stride=5)) == []
    assert edges(find_crossings(5, 1, length=5, stride=5)) == ([(1, 0)], [])


def test_with_an_overlap_of_more_than_half_several_windows_are_open():
    assert list(list_open_windows(7, length=8, stride=2)) == [0, 1, 2, 3]
    assert count_started_windows(7, stride=2) == 4


lengths = st.integers(1, 40).flatmap(lambda length: st.tuples(st.just(length), st.integers(1, length)))


@given(lengths, st.lists(st.integers(0, 60), max_size=30))
def test_messages_make_the_windows_that_the_stream_of_their_tokens_has(windows, messages):
    length, stride = windows
    total = sum(messages)
    first, last, before = {}, {}, 0
    for tokens in messages:
        crossed = find_crossings(before, tokens, length=length, stride=stride)
        first.update({edge.window: before + edge.token for edge in crossed.opened})
        last.update({edge.window: before + edge.token for edge in crossed.sealed})
        assert all(0 <= edge.token < tokens for edge in crossed.opened)
        assert all(0 < edge.token <= tokens for edge in crossed.sealed)
        before += tokens
        assert sorted(set(first) - set(last)) == list(list_open_windows(before, length=length, stride=stride))
    assert first == {i: i * stride for i in range(total) if i * stride < total}
    assert last == {i: i * stride + length for i in first if i * stride + length <= total}
    held = {i: set(range(first[i], last.get(i, total))) for i in first}
    assert set().union(*held.values()) == set(range(total))
    for i in first:
        if i in last and i + 1 in last:
            assert len(held[i] & held[i + 1]) == length - stride
