"""The columns of the index: who stands next to whom, and what grows."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_rows import Doc, batch, built, living, neighbours

from recollect.store.index.bank_index import BankIndex
from recollect.store.index.grow_array import GrowArray
from recollect.store.index.postings import Postings
from recollect.store.index.row_table import NameCodes, RowTable


def assert_chained(batches):
    table, alive = built(*batches).table, living(*batches)
    assert np.flatnonzero(table.alive.view).tolist() == sorted(alive)
    for row in alive:
        line, place = neighbours(alive, row)
        expected = (line[place - 1] if place else -1, line[place + 1] if place + 1 < len(line) else -1)
        assert (table.previous.view[row], table.following.view[row]) == expected, row


def doc(seq, order, session="s", kind="turn"):
    return Doc(seq=seq, order=order, session=session, kind=kind)


CHAINS = {
    "one batch": [[doc(0, 0), doc(1, 1), doc(2, 2)]],
    "one by one": [[doc(0, 0)], [doc(1, 1)], [doc(2, 2)]],
    "out of order within a batch": [[doc(0, 2), doc(1, 0), doc(2, 1)]],
    "inserted in the middle": [[doc(0, 0), doc(1, 4)], [doc(2, 2)]],
    "inserted before the first": [[doc(0, 5), doc(1, 6)], [doc(2, 1)]],
    "first replaced": [[doc(0, 0), doc(1, 1), doc(2, 2)], [doc(0, 0)]],
    "middle replaced": [[doc(0, 0), doc(1, 1), doc(2, 2)], [doc(1, 1)]],
    "last replaced, then one more": [[doc(0, 0), doc(1, 1)], [doc(1, 1)], [doc(2, 2)]],
    "last replaced with one more": [[doc(0, 0), doc(1, 1)], [doc(1, 1), doc(2, 2)]],
    "replaced twice": [[doc(0, 0), doc(1, 1)], [doc(0, 0)], [doc(0, 0)]],
    "sessions interleaved": [[doc(0, 0), doc(1, 0, "t"), doc(2, 1), doc(3, 1, "t")], [doc(4, 2, "t"), doc(5, 2)]],
    "kinds apart": [[doc(0, 0), doc(1, 1, kind="fact"), doc(2, 2)]],
    "equal orders": [[doc(0, 1), doc(1, 1)], [doc(2, 1)]],
}


@pytest.mark.parametrize("name", CHAINS)
def test_neighbours_are_those_of_the_same_kind_and_session(name):
    assert_chained(CHAINS[name])


@pytest.mark.parametrize("order", [0, 9])
def test_a_row_that_is_replaced_may_move(order):
    assert_chained([[doc(0, 1), doc(1, 3), doc(2, 5)], [doc(2 if order == 0 else 0, order)]])


def test_the_first_of_two_equal_orders_is_replaced():
    assert_chained([[doc(0, 0), doc(1, 0)], [doc(0, 0)]])


ORDERS = st.integers(1, 12).flatmap(lambda count: st.permutations(range(count)))
SESSIONS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["turn", "fact"])), min_size=12, max_size=12)


@settings(max_examples=60, deadline=None)
@given(ORDERS, SESSIONS, st.sets(st.integers(1, 11), max_size=6), st.lists(st.integers(0, 11), max_size=4))
def test_any_history_chains_as_its_outcome_does(orders, sessions, cuts, again):
    docs = [doc(seq, order, *sessions[seq]) for seq, order in enumerate(orders)]
    edges = [0, *sorted(cut for cut in cuts if cut < len(docs)), len(docs)]
    parts = [docs[a:b] for a, b in pairwise(edges)]
    assert_chained([*parts, *([docs[seq]] for seq in again if seq < len(docs))])


def test_rows_of_items_are_the_live_ones():
    table = RowTable()
    assert table.rows_of(np.array([3], dtype=np.int64)).tolist() == [-1]
    table.append(batch([doc(2, 0), doc(5, 1)]))
    table.append(batch([doc(2, 0)]))
    assert table.rows_of(np.array([5, 2, 0, 99], dtype=np.int64)).tolist() == [1, 2, -1, -1]


def test_what_is_around_a_row():
    table = RowTable()
    table.link(0, table.append(batch([doc(n, n) for n in range(5)])))
    grid = table.neighbours_of(np.array([0, 2, 4], dtype=np.int32), 2)
    assert grid.tolist() == [[-1, -1, 0, 1, 2], [0, 1, 2, 3, 4], [2, 3, 4, -1, -1]]


def test_codes_are_given_in_order_and_found_again():
    codes = NameCodes()
    assert codes.encode(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert codes.encode(["c", "a"]).tolist() == [2, 1]
    assert codes.find(["a", "unknown", "b"]) == [1, 0]
    assert (codes.names(), len(codes)) == (("b", "a", "c"), 3)


@given(st.lists(st.lists(st.integers(-5, 5), max_size=90), max_size=8))
def test_a_grown_array_is_the_blocks_in_order(blocks):
    grown = GrowArray(np.int32)
    for block in blocks:
        grown.append(np.array(block, dtype=np.int32))
    assert grown.view.tolist() == list(chain(*blocks))
    assert len(grown) == len(grown.view)


def test_a_grown_array_has_a_tail_and_is_written_through_its_view():
    grown = GrowArray(np.float32, (2,))
    assert grown.view.shape == (0, 2)
    grown.append(np.array([[1, 2], [3, 4]], dtype=np.float32))
    grown.view[1] = 9
    grown.append(np.zeros((200, 2), dtype=np.float32))
    assert grown.view[:2].tolist() == [[1, 2], [9, 9]]
    assert grown.view.shape == (202, 2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=20), st.integers(0, 30))
def test_postings_count_as_a_counter_does(texts, tail):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recollect.store.index.postings._TAIL_AT_LEAST", tail)
        postings = Postings()
        for row, text in enumerate(texts):
            postings.append(np.array(text, dtype=np.uint32), np.full(len(text), row, dtype=np.int32))
            postings.fold_tail()
    for term in range(7):
        rows, counts = postings.rows_with(np.uint32(term))
        expected = [(row, text.count(term)) for row, text in enumerate(texts) if term in text]
        assert list(zip(rows.tolist(), counts.tolist(), strict=True)) == expected


def test_postings_fold_and_still_know_terms_as_large_as_they_come(monkeypatch):
    monkeypatch.setattr("recollect.store.index.postings._TAIL_AT_LEAST", 2)
    postings = Postings()
    largest = np.uint32(2**32 - 1)
    for row in range(9):
        postings.append(np.array([largest, 0, largest], dtype=np.uint32), np.full(3, row, dtype=np.int32))
        postings.fold_tail()
    rows, counts = postings.rows_with(largest)
    assert (rows.tolist(), set(counts.tolist())) == (list(range(9)), {2.0})
    assert postings.rows_with(np.uint32(1))[0].tolist() == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 7))
def test_a_bank_read_in_batches_is_as_it_is_read_at_once(orders, size):
    docs = [
        Doc(seq=seq, order=order, session="ab"[seq % 2], terms=(seq % 5, order), vector=(1.0, seq, order, 0.5))
        for seq, order in enumerate(orders)
    ]
    whole, parts = BankIndex(4, -1), BankIndex(4, -1)
    whole.append(batch(docs))
    parts.extend(batch(docs[at : at + size]) for at in range(0, len(docs), size))
    for column in ("seq", "kind", "session", "previous", "following", "alive", "current"):
        assert getattr(whole.table, column).view.tolist() == getattr(parts.table, column).view.tolist(), column
    assert (whole.surroundings._norm.view == parts.surroundings._norm.view).all()
    for term in range(31):
        assert [one.tolist() for one in whole.postings.rows_with(np.uint32(term))] == [
            one.tolist() for one in parts.postings.rows_with(np.uint32(term))
        ]
