"""Equation 12 on graphs worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.links import LinkKind
from recollect.recall.settings import SpreadSettings
from recollect.recall.spread import merge_activation, select_strongest, spread_step
from recollect.store.search import LINK_KINDS, Edges

PLAIN = SpreadSettings(decay=0.5, floor=0.0, multipliers=dict.fromkeys(LinkKind, 1.0))


def edges(*walked):
    """Links as (from, to, weight) or (from, to, weight, kind)."""
    full = [(*link, LinkKind.RELATION)[:4] for link in walked]
    return Edges(
        origins=np.array([link[0] for link in full], dtype=np.int64),
        targets=np.array([link[1] for link in full], dtype=np.int64),
        kinds=np.array([LINK_KINDS.index(link[3]) for link in full], dtype=np.int8),
        weights=np.array([link[2] for link in full], dtype=np.float32),
    )


def close(expected):
    return pytest.approx(expected, abs=1e-6)


def test_activation_decays_with_weight_and_step():
    one = spread_step({1: 0.8}, edges((1, 2, 1.0), (1, 3, 0.5)), PLAIN)
    assert one == close({2: 0.4, 3: 0.2})
    assert spread_step(one, edges((2, 4, 1.0), (3, 4, 1.0)), PLAIN) == close({4: 0.2})


def test_the_most_that_any_link_brings_counts_and_not_the_sum():
    brought = spread_step({1: 1.0, 2: 0.4, 3: 0.9}, edges((1, 9, 0.2), (2, 9, 1.0), (3, 9, 0.5)), PLAIN)
    assert brought == close({9: 0.225})


def test_each_kind_of_link_has_its_multiplier():
    factors = {kind: (place + 1) / 10 for place, kind in enumerate(LinkKind)}
    settings = SpreadSettings(decay=1.0, floor=0.0, multipliers=factors)
    links = [(1, 10 + place, 1.0, kind) for place, kind in enumerate(LinkKind)]
    assert spread_step({1: 1.0}, edges(*links), settings) == close(
        {10 + place: factors[kind] for place, kind in enumerate(LinkKind)}
    )


def test_the_paper_favours_causes_and_entities_and_none_of_the_others():
    factors = SpreadSettings().multipliers
    assert set(factors) == set(LinkKind)
    favoured = {kind for kind, factor in factors.items() if factor > 1}
    assert favoured == {LinkKind.CAUSAL, LinkKind.ENTITY}
    assert 0 < SpreadSettings().decay < 1


def test_activation_never_passes_one():
    settings = SpreadSettings(decay=1.0, floor=0.0, multipliers=dict.fromkeys(LinkKind, 3.0))
    assert spread_step({1: 0.9, 2: 0.8}, edges((1, 5, 1.0), (2, 5, 1.0), (1, 6, 0.1)), settings) == close(
        {5: 1.0, 6: 0.27}
    )


@pytest.mark.parametrize(("weight", "reached"), [(0.5, {2: 0.25}), (0.49, {}), (0.51, {2: 0.255})])
def test_what_falls_below_the_floor_is_dropped(weight, reached):
    settings = SpreadSettings(decay=0.5, floor=0.25, multipliers=dict.fromkeys(LinkKind, 1.0))
    assert spread_step({1: 1.0}, edges((1, 2, weight)), settings) == close(reached)


def test_links_of_what_is_not_active_bring_nothing():
    assert spread_step({1: 1.0}, edges((2, 3, 1.0)), PLAIN) == {}
    assert spread_step({}, edges((1, 2, 1.0)), PLAIN) == {}
    assert spread_step({1: 1.0}, edges(), PLAIN) == {}


def test_the_strongest_are_in_order_and_equal_ones_by_number():
    activation = {9: 0.5, 3: 0.7, 5: 0.5, 1: 0.1}
    assert select_strongest(activation, 3) == [3, 5, 9]
    assert select_strongest(dict(reversed(activation.items())), 3) == [3, 5, 9]
    assert select_strongest(activation, 0) == []
    assert select_strongest(activation, 99) == [3, 5, 9, 1]


def test_the_highest_of_all_steps_stays():
    known = {1: 0.5, 2: 0.2}
    assert merge_activation(known, {1: 0.4, 2: 0.3, 3: 0.1}) == {1: 0.5, 2: 0.3, 3: 0.1}
    assert known == {1: 0.5, 2: 0.2}


@given(
    st.dictionaries(st.integers(0, 6), st.floats(0, 1)),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0, 1), st.sampled_from(list(LinkKind)))),
)
def test_no_step_makes_more_than_there_was_allowed_for(active, links):
    settings = SpreadSettings()
    reached = spread_step(active, edges(*links), settings)
    for target, value in reached.items():
        brought = [
            active.get(origin, 0.0) * weight * settings.decay * settings.multipliers[kind]
            for origin, at, weight, kind in links
            if at == target
        ]
        assert value == pytest.approx(min(max(brought), 1.0), abs=1e-5)
        assert settings.floor - 1e-6 <= value <= 1.0
