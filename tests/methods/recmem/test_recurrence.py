"""Equations 5 and 6 on values worked out by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from recollect.errors import InvalidInput
from recollect.methods.recmem.recurrence import (
    UnitCandidate,
    consolidation_reason,
    has_untold_messages,
    is_merge_candidate,
    select_cluster,
    select_relevant,
)
from recollect.methods.recmem.settings import CASUAL, Recurrence

AT = datetime(2024, 5, 1, tzinfo=UTC)
THREE = Recurrence(theta_sim=0.7, theta_count=3)


def one(n, cosine, *, consolidated=False, hours=None):
    """The n-th unit that was kept; said in that order, where nothing else is told."""
    at = AT + timedelta(hours=n if hours is None else hours)
    return UnitCandidate(id=f"u{n}", place=(n, 0), at=at, cosine=cosine, is_consolidated=consolidated)


OWN = one(9, 1.0)


def ids(units):
    return [unit.id for unit in units]


def test_the_papers_two_settings():
    assert (CASUAL.theta_sim, CASUAL.theta_count, CASUAL.k) == (0.7, 5, 20)


def test_equation_5_keeps_what_is_at_the_threshold_and_nothing_below():
    found = select_relevant([one(1, 0.69), one(2, 0.7), one(3, 0.95), one(4, 0.1)], OWN.place, THREE)
    assert ids(found) == ["u3", "u2"]


def test_equation_5_looks_at_what_came_before_alone():
    assert ids(select_relevant([one(8, 0.8), one(10, 0.99), one(9, 1.0)], OWN.place, THREE)) == ["u8"]


def test_equation_5_filters_the_k_nearest_that_came_before():
    few = Recurrence(theta_sim=0.7, theta_count=2, k=2)
    # Two that came later are nearer: they are none of the two.
    near = [one(11, 0.99), one(12, 0.98), one(1, 0.9), one(2, 0.8), one(3, 0.75)]
    assert ids(select_relevant(near, OWN.place, few)) == ["u1", "u2"]


def test_of_equals_the_first_kept_counts():
    few = Recurrence(theta_sim=0.7, theta_count=1, k=1)
    assert ids(select_relevant([one(5, 0.8), one(2, 0.8)], OWN.place, few)) == ["u2"]


@pytest.mark.parametrize(("cosine", "asked"), [(0.7, True), (0.6999, False), (1.0, True), (None, False)])
def test_equation_6_asks_at_the_threshold(cosine, asked):
    assert is_merge_candidate(cosine, THREE) is asked


def test_merging_can_have_a_threshold_of_its_own():
    own = Recurrence(theta_sim=0.7, theta_count=3, theta_merge=0.5)
    assert is_merge_candidate(0.5, own)
    assert not is_merge_candidate(0.49, own)


def test_a_cluster_is_in_order_of_time_with_the_unit_in_it():
    related = [one(3, 0.9, hours=20), one(1, 0.8, hours=5), one(2, 0.75, hours=5)]
    assert ids(select_cluster(OWN, related)) == ["u1", "u2", "u9", "u3"]


def test_what_an_episode_tells_of_counts_but_is_not_told_again():
    related = [one(1, 0.9, consolidated=True), one(2, 0.9, consolidated=True), one(3, 0.9)]
    assert ids(select_cluster(OWN, related)) == ["u3", "u9"]
    assert said(related) == "recurrence of 4"


def said(related, own=OWN, *, important=False, salient=None):
    return consolidation_reason(own, related, THREE, important=important, salient=salient)


def test_three_like_it_make_an_occasion_and_two_do_not():
    assert said([one(1, 0.9), one(2, 0.9), one(3, 0.9)]) == "recurrence of 4"
    assert said([one(1, 0.9), one(2, 0.9)]) is None


def test_an_episode_takes_two_that_no_other_tells_of():
    told = [one(n, 0.9, consolidated=True) for n in range(5)]
    assert said(told) is None
    assert said([*told, one(6, 0.9)]) == "recurrence of 7"


def test_a_unit_that_is_told_of_makes_no_occasion():
    own = one(9, 1.0, consolidated=True)
    assert said([one(1, 0.9), one(2, 0.9), one(3, 0.9)], own, important=True, salient="allergy") is None


def test_what_was_pinned_needs_nothing_like_it():
    assert said([], important=True) == "pinned"
    assert said([one(1, 0.9), one(2, 0.9), one(3, 0.9)], important=True, salient="allergy") == "pinned"


def test_what_is_salient_says_why_unless_it_recurs():
    assert said([], salient="allergy") == "salient: allergy"
    assert said([one(1, 0.9), one(2, 0.9), one(3, 0.9)], salient="allergy") == "recurrence of 4"


def test_a_turn_that_was_answered_since_is_not_told_whole():
    assert has_untold_messages(("m1", "m2"), {"m1"})
    assert not has_untold_messages(("m1", "m2"), {"m1", "m2", "m3"})


@pytest.mark.parametrize(
    "wrong",
    [{"theta_sim": 1.1}, {"theta_merge": -2.0}, {"theta_count": 0}, {"theta_count": 21}, {"fresh": 0}],
)
def test_numbers_out_of_their_range_are_refused(wrong):
    with pytest.raises(InvalidInput):
        Recurrence(**{"theta_sim": 0.7, "theta_count": 5, **wrong})
