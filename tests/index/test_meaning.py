"""Vectors: the nearest rows, and the cosines of surroundings against explicitly summed vectors."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_rows import Doc, built, living, neighbours

from recollect.store.index import vectors as module
from recollect.store.index.vectors import VectorTable, select_top

ASKED = np.array([0.5, -0.5, 0.5, 0.5], dtype=np.float32)


def unit(seed):
    vector = np.random.default_rng(seed).normal(size=4)
    return tuple((vector / np.linalg.norm(vector)).tolist())


def summed(alive, row, vector):
    """The cosine of the vectors of a row and two neighbours on each side, each as heavy as it has words and one."""
    chain, place = neighbours(alive, row)
    near = [alive[at] for at in chain[max(0, place - 2) : place + 3]]
    total = np.sum([np.array(doc.vector) * (len(doc.terms) + 1) for doc in near], axis=0)
    return float(total @ vector) / max(float(np.linalg.norm(total)), 1e-6)


@st.composite
def histories(draw):
    orders = draw(st.integers(1, 10).flatmap(lambda count: st.permutations(range(count))))
    shapes = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6)), min_size=10, max_size=10))
    docs = [
        Doc(seq=seq, session=session, order=order, terms=(1,) * length, vector=unit(seq))
        for seq, (order, (session, length)) in enumerate(zip(orders, shapes, strict=False))
    ]
    cuts = sorted(draw(st.sets(st.integers(1, len(docs)), max_size=4)))
    batches = [docs[a:b] for a, b in zip([0, *cuts], [*cuts, len(docs)], strict=True) if a < b]
    for seq in draw(st.lists(st.integers(0, len(docs) - 1), max_size=3)):
        old = docs[seq]
        again = Doc(seq=seq, session=old.session, order=old.order, terms=(1,), vector=unit(seq + 100))
        batches.append([again])
    return batches


@settings(max_examples=50, deadline=None)
@given(histories())
def test_cosines_of_surroundings_are_those_of_summed_vectors(batches):
    index, alive = built(*batches), living(*batches)
    rows = np.array(sorted(alive), dtype=np.int32)
    matrix = index.vectors.matrix
    own, near = index.surroundings.cosines(index.table, rows, matrix, ASKED)
    everywhere = index.surroundings.all_cosines(index.table, matrix @ ASKED)
    expected = [summed(alive, row, ASKED) for row in rows.tolist()]
    np.testing.assert_allclose(near, expected, atol=1e-5)
    np.testing.assert_allclose(everywhere[rows], expected, atol=1e-5)
    np.testing.assert_allclose(own, matrix[rows] @ ASKED, atol=1e-6)


def test_rows_of_no_meaning_have_a_cosine_of_nothing():
    index = built([Doc(seq=0, vector=(0, 0, 0, 0))])
    own, near = index.surroundings.cosines(index.table, np.array([0], dtype=np.int32), index.vectors.matrix, ASKED)
    assert (own.tolist(), near.tolist()) == ([0.0], [0.0])


def table(*scores):
    """Vectors whose cosines with the first axis are these."""
    vectors = VectorTable(2, -1)
    vectors.append(np.array([(score, (1 - score**2) ** 0.5) for score in scores], dtype=np.float32))
    return vectors


FIRST_AXIS = np.array([[1, 0]], dtype=np.float32)


ALL = np.ones(5, dtype=np.bool_)


@pytest.mark.parametrize(("k", "rows"), [(2, [3, 1]), (9, [3, 1, 0, 4, 2]), (1, [3])])
def test_the_nearest_rows_best_first(k, rows):
    ((found, scores),) = table(0.5, 0.7, -0.3, 0.9, 0.1).nearest(FIRST_AXIS, k, -1.0, ALL)
    assert found.tolist() == rows
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_only_the_newest_rows_are_compared(monkeypatch):
    monkeypatch.setattr("recollect.store.index.vectors.NEWEST", 2)
    ((found, _),) = table(0.5, 0.7, -0.3, 0.9, 0.1).nearest(FIRST_AXIS, 3, -1.0, ALL)
    assert found.tolist() == [3, 4]


def test_every_query_has_its_own_answer():
    both = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    answers = [rows.tolist() for rows, _ in table(0.5, -0.7).nearest(both, 1, -1.0, ALL[:2])]
    assert answers == [[0], [1]]


@given(st.lists(st.integers(-3, 3), max_size=60), st.integers(0, 70))
def test_top_gives_the_highest_scores_best_first(scores, k):
    column = np.array(scores, dtype=np.float32)
    best = select_top(column, k)
    assert column[best].tolist() == sorted(scores, reverse=True)[:k]
    assert len(set(best.tolist())) == len(best)
    for one, other in zip(best.tolist(), best.tolist()[1:], strict=False):
        assert column[one] > column[other] or one < other


def test_of_equal_scores_the_first_are_the_top():
    assert select_top(np.ones(1000, dtype=np.float32), 3).tolist() == [0, 1, 2]


def test_a_replaced_row_is_not_near():
    index = built(
        [Doc(seq=0, vector=(1, 0, 0, 0)), Doc(seq=1, order=1, vector=(0, 1, 0, 0))], [Doc(seq=0, vector=unit(5))]
    )
    ((rows, _),) = index.find_nearest(np.array([[1, 0, 0, 0]], dtype=np.float32), 9, -1.0)
    assert sorted(rows.tolist()) == [1, 2]


def test_replaced_rows_take_no_place_among_the_nearest():
    near, versions = Doc(seq=0, vector=(0.8, 0.6, 0, 0)), [Doc(seq=1, order=1)] * 3
    index = built([near], *([version] for version in versions))
    ((rows, _),) = index.find_nearest(np.array([[1, 0, 0, 0]], dtype=np.float32), 2, -1.0)
    assert rows.tolist() == [3, 0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 12), st.integers(0, 4), st.integers(1, 30), st.sets(st.integers(0, 11)))
def test_blocks_change_nothing(rows, queries, block, dead):
    rng = np.random.default_rng(rows)
    matrix, asked = (rng.integers(-2, 3, (count, 4)).astype(np.float32) for count in (rows, queries))
    alive = ~np.isin(np.arange(rows), list(dead))
    table = VectorTable(4, -1)
    table.append(matrix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_COSINES", block)
        found = table.nearest(asked, 3, 1.0, alive)
    scores = np.where(alive, asked @ matrix.T, -np.inf)
    for (near, cosines), expected in zip(found, scores, strict=True):
        best = [row for row in select_top(expected, 3).tolist() if expected[row] >= 1]
        assert near.tolist() == best
        assert cosines.tolist() == expected[best].tolist()


def test_a_small_bank_does_not_load_the_graphs_library():
    program = (
        "import sys; import numpy as np; from recollect.store.index.bank_index import BankIndex;"
        "BankIndex(4).find_nearest(np.zeros((1, 4), dtype=np.float32), 1, 0.5); print('usearch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
