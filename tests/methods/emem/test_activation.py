"""Which segments take part (section 3.3, equations 2 and 5): worked out by hand."""

import pytest

from recollect.domain.recalls import ArmRank
from recollect.methods.emem.activation import (
    TurnHit,
    activate,
    assign_segments,
    combine_strengths,
    rank_segments,
    sum_by_segment,
    unite_rankings,
)
from recollect.methods.emem.settings import Pathway

S, V, K = Pathway.SUMMARY, Pathway.VECTOR, Pathway.KEYWORD
WEIGHTS = {S: 1.0, V: 1.0, K: 2.0}


def hit(*segments, strength=0.0, **strengths):
    return TurnHit(
        messages=("m",),
        segments=segments,
        strengths={Pathway(name): one for name, one in strengths.items()},
        strength=strength,
    )


def numbers(activated):
    return [one.number for one in activated]


def test_the_union_has_what_any_pathway_activates():
    """Equation 5: 1 by the summary alone, 2 by two pathways, 3 by its words alone; 4 by none."""
    activated = activate({S: {1: 0.4}, V: {2: 0.8}, K: {2: 0.5, 3: 0.9}}, 10, WEIGHTS)
    assert {one.number for one in activated} == {1, 2, 3}


def test_the_strength_is_the_mean_by_weight():
    """(1 * 0.8 + 2 * 0.5) / 4 is 0.45, as 2 * 0.9 / 4 is; 1 * 0.4 / 4 is 0.1."""
    activated = activate({S: {1: 0.4}, V: {2: 0.8}, K: {2: 0.5, 3: 0.9}}, 10, WEIGHTS)
    assert [(one.number, round(one.strength, 9)) for one in activated] == [(2, 0.45), (3, 0.45), (1, 0.1)]


def test_every_pathway_that_caused_an_activation_is_told_with_rank_and_score():
    activated = activate({V: {2: 0.8, 5: 0.9}, K: {2: 0.5}}, 10, WEIGHTS)
    assert activated[0].number == 2
    assert activated[0].why == (ArmRank(arm="vector", rank=2, score=0.8), ArmRank(arm="keyword", rank=1, score=0.5))
    assert activated[1].why == (ArmRank(arm="vector", rank=1, score=0.9),)


@pytest.mark.parametrize(("tau", "kept"), [(1, [3]), (2, [3, 1]), (3, [3, 1, 2]), (9, [3, 1, 2])])
def test_at_most_tau_take_part_and_the_weakest_go(tau, kept):
    assert numbers(activate({K: {1: 0.5, 2: 0.4, 3: 0.6}}, tau, WEIGHTS)) == kept


def test_nothing_activates_nothing():
    assert activate({}, 8, WEIGHTS) == ()
    assert activate({S: {}, V: {}}, 8, WEIGHTS) == ()


def test_equal_ones_stand_in_the_order_of_the_stream():
    assert numbers(activate({K: {7: 0.5, 2: 0.5, 4: 0.5}}, 2, WEIGHTS)) == [2, 4]


def test_that_no_summary_speaks_for_an_open_segment_is_no_sign_against_it():
    """9 has no summary, and counts as the average of 0.2 and 0.4: (0.3 + 0.6 + 2 * 0.6) / 4 is 0.525."""
    brought = {S: {1: 0.2, 2: 0.4}, V: {1: 0.6, 9: 0.6}, K: {1: 0.6, 9: 0.6}}
    first, second, third = activate(brought, 8, WEIGHTS, unsummed=(9,))
    assert (first.number, second.number, third.number) == (9, 1, 2)
    assert [one.strength for one in (first, second, third)] == pytest.approx([0.525, 0.5, 0.1])
    assert {why.arm for why in first.why} == {"vector", "keyword"}


def test_a_pathway_without_a_weight_counts_nothing():
    assert combine_strengths({V: 0.5, K: 1.0}, {V: 2.0}) == 0.5
    assert combine_strengths({V: 0.5}, {}) == 0.0


def test_a_turn_in_the_overlap_counts_for_the_segment_with_the_better_turn_of_its_own():
    hits = [hit(1, 2, strength=0.9), hit(1, strength=0.2), hit(2, strength=0.3)]
    assert assign_segments(hits) == [2, 1, 2]


def test_a_turn_in_the_overlap_counts_for_the_earlier_where_neither_has_one():
    assert assign_segments([hit(1, 2, strength=0.9), hit(3, strength=0.2)]) == [1, 3]


def test_the_overlap_twin_takes_no_place():
    """One turn in the overlap of 1 and 2: only one of them is activated by it, and 3 keeps its place."""
    hits = [hit(1, 2, strength=0.9, keyword=0.9), hit(3, strength=0.3, keyword=0.3)]
    assert numbers(activate(sum_by_segment(hits, assign_segments(hits)), 2, WEIGHTS)) == [1, 3]


def test_a_segment_is_worth_its_best_turn_by_each_pathway():
    hits = [hit(1, vector=0.2, keyword=0.7), hit(1, vector=0.5), hit(2, keyword=0.1)]
    assert sum_by_segment(hits, [1, 1, 2]) == {V: {1: 0.5}, K: {1: 0.7, 2: 0.1}}


def test_ranks_go_from_the_strongest_to_the_weakest():
    assert rank_segments({4: 0.1, 2: 0.3, 3: 0.3}) == [2, 3, 4]
    assert unite_rankings([[3, 1], [], [1, 2]]) == (3, 1, 2)
