from math import log2

import pytest

from recollect_lab.evals.metrics import compute_ndcg, compute_recall, compute_reciprocal_rank
from recollect_lab.evals.scoring import estimate_metrics, score_places, score_sessions

RANKED = ("a", "b", "c", "d")


def test_recall_is_the_share_of_the_gold():
    gold = frozenset({"b", "d", "z"})
    assert [compute_recall(RANKED, gold, k) for k in (1, 2, 3, 4, 9)] == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3])


def test_recall_of_more_gold_than_places_cannot_reach_one():
    assert compute_recall(RANKED, frozenset("abcd"), 2) == 0.5


def test_ndcg_by_hand():
    # gold at ranks 2 and 4; ideal at ranks 1 and 2
    by_hand = (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))
    assert compute_ndcg(RANKED, frozenset({"b", "d"}), 10) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.65092, abs=1e-5)


def test_ndcg_of_the_best_order_is_one_also_with_more_gold_than_places():
    assert compute_ndcg(RANKED, frozenset({"a", "b"}), 10) == 1
    assert compute_ndcg(RANKED, frozenset("abcdef"), 3) == 1
    assert compute_ndcg(RANKED, frozenset("z"), 10) == 0


def test_reciprocal_rank():
    assert compute_reciprocal_rank(RANKED, frozenset({"c", "d"}), 10) == pytest.approx(1 / 3)
    assert compute_reciprocal_rank(RANKED, frozenset({"c"}), 2) == 0
    assert compute_reciprocal_rank((), frozenset({"c"}), 10) == 0


def test_measures_deeper_than_what_was_asked_for_are_left_out():
    gold = frozenset({"a"})
    assert set(score_places(RANKED, gold, depth=50)) == {
        "recall@5",
        "recall@10",
        "recall@25",
        "recall@50",
        "ndcg@10",
        "mrr",
    }
    assert set(score_places(RANKED, gold, depth=9)) == {"recall@5", "mrr"}
    assert set(score_sessions(RANKED, gold, depth=9)) == {"session_recall@5"}


def test_without_gold_there_are_no_scores():
    assert score_places(RANKED, frozenset(), depth=50) == {}
    assert score_sessions(RANKED, frozenset(), depth=50) == {}


def test_a_mean_is_over_the_questions_that_have_the_measure():
    found = estimate_metrics([{"a": 1.0, "b": 0.0}, {"b": 1.0}])
    assert (found["a"].mean, found["a"].n) == (1, 1)
    assert (found["b"].mean, found["b"].n) == (0.5, 2)
