"""Fusion by hand: reciprocal ranks (equation 15) and weighed signals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.signals import SIGNAL_NAMES, Signals, Weights
from recollect.recall.fusion import fuse_ranks, unite_rankings, weigh_signals
from recollect.recall.settings import Arm, parse_arms, select_weights

NOTHING = dict.fromkeys(SIGNAL_NAMES, 0.0)


def refs(*numbers):
    return np.array(numbers, dtype=np.int64)


def signals(**columns):
    length = max((len(column) for column in columns.values()), default=1)
    zero = np.zeros(length, dtype=np.float32)
    return Signals(**{name: np.array(columns.get(name, zero), dtype=np.float32) for name in SIGNAL_NAMES})


def test_a_union_keeps_the_order_of_first_appearance():
    assert unite_rankings([refs(5, 2), refs(), refs(2, 9, 5, 1)]).tolist() == [5, 2, 9, 1]
    assert unite_rankings([]).tolist() == unite_rankings([refs()]).tolist() == []
    assert unite_rankings([]).dtype == np.int64


def test_equation_15():
    rankings = [refs(7, 8, 9), refs(8, 7), refs(), refs(8)]
    scores = fuse_ranks(refs(7, 8, 9), rankings, 60)
    expected = [1 / 61 + 1 / 62, 1 / 62 + 1 / 61 + 1 / 61, 1 / 63]
    assert scores.tolist() == pytest.approx(expected, abs=1e-7)


def test_a_list_that_misses_an_item_takes_nothing_from_it():
    alone = fuse_ranks(refs(1), [refs(1)], 60)
    beside = fuse_ranks(refs(1, 2), [refs(1), refs(2)], 60)
    assert beside[0] == alone[0] == pytest.approx(1 / 61)


def test_the_constant_of_equation_15_is_taken():
    assert fuse_ranks(refs(1), [refs(1)], 1).tolist() == [0.5]


@given(st.lists(st.lists(st.integers(0, 9), unique=True, max_size=6), max_size=4))
def test_reciprocal_ranks_are_equation_15(rankings):
    columns = [refs(*ranking) for ranking in rankings]
    candidates = unite_rankings(columns)
    scores = fuse_ranks(candidates, columns, 60)
    for ref, score in zip(candidates.tolist(), scores.tolist(), strict=True):
        expected = sum(1 / (61 + ranking.index(ref)) for ranking in rankings if ref in ranking)
        assert score == pytest.approx(expected, abs=1e-6)


def test_weighed_signals_are_a_share_of_the_most():
    weights = Weights(**{**NOTHING, "meaning": 6.0, "speaker": 2.0, "asks": -0.8})
    columns = signals(meaning=[1.0, 0.5, 0.0], speaker=[1.0, 0.0, 0.0], asks=[0.0, 1.0, 1.0])
    assert weigh_signals(columns, weights).tolist() == pytest.approx([1.0, (3 - 0.8) / 8, -0.1], abs=1e-6)


@pytest.mark.parametrize("name", SIGNAL_NAMES)
def test_every_signal_has_its_weight(name):
    weights = Weights(**{**NOTHING, "meaning": 1.0, name: 3.0})
    most = 3.0 if name == "meaning" else 4.0
    assert weigh_signals(signals(**{name: [0.5]}), weights).tolist() == pytest.approx([1.5 / most])


def test_no_weights_give_no_scores_and_no_error():
    assert weigh_signals(signals(meaning=[0.3, 0.4]), Weights(**NOTHING)).tolist() == [0.0, 0.0]


def test_scores_do_not_depend_on_which_other_candidates_there_are():
    rng = np.random.default_rng(1)
    table = {name: rng.uniform(size=6).astype(np.float32) for name in SIGNAL_NAMES}
    together = weigh_signals(Signals(**table), Weights())
    for at in range(6):
        alone = weigh_signals(Signals(**{name: column[at : at + 1] for name, column in table.items()}), Weights())
        assert alone[0] == together[at]


SILENT = {
    Arm.SEMANTIC: {"meaning", "surroundings"},
    Arm.LEXICAL: {"exchange", "passage", "session", "phrase"},
    Arm.GRAPH: {"graph"},
    Arm.TEMPORAL: {"temporal"},
}


@pytest.mark.parametrize("absent", list(Arm))
def test_the_signals_of_an_absent_arm_weigh_nothing(absent):
    weights = select_weights(Weights(), tuple(arm for arm in Arm if arm is not absent))
    assert {name for name in SIGNAL_NAMES if not getattr(weights, name)} == SILENT[absent]
    kept = replace(weights, **{name: getattr(Weights(), name) for name in SILENT[absent]})
    assert kept == Weights()


def test_who_asks_and_who_speaks_belong_to_no_arm():
    weights = select_weights(Weights(), ())
    assert {name for name in SIGNAL_NAMES if getattr(weights, name)} == {"speaker", "dated", "asks"}
    assert select_weights(Weights(), tuple(Arm)) == Weights()


def test_arms_are_read_from_their_names():
    assert parse_arms("graph, semantic,") == (Arm.GRAPH, Arm.SEMANTIC)
    with pytest.raises(ValueError, match="lexical"):
        parse_arms("semantic,keyword")
