import pytest

from recollect_lab.reports import bootstrap
from recollect_lab.reports.bootstrap import estimate_mean

VALUES = [0.0] * 60 + [1.0] * 40


def test_the_same_values_give_the_same_interval():
    assert estimate_mean(VALUES) == estimate_mean(VALUES)


def test_another_seed_gives_nearly_the_same_interval():
    one, other = estimate_mean(VALUES), estimate_mean(VALUES, seed=7)
    assert one.low == pytest.approx(other.low, abs=0.02)
    assert one.high == pytest.approx(other.high, abs=0.02)


def test_the_interval_of_a_share_is_near_the_normal_one():
    found = estimate_mean(VALUES)
    spread = 1.96 * (0.4 * 0.6 / 100) ** 0.5
    assert (found.mean, found.n) == (pytest.approx(0.4), 100)
    assert found.low == pytest.approx(0.4 - spread, abs=0.015)
    assert found.high == pytest.approx(0.4 + spread, abs=0.015)


def test_equal_values_have_no_spread():
    found = estimate_mean([0.5] * 9)
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)


def test_every_resample_is_drawn_also_where_blocks_do_not_divide_it(monkeypatch):
    monkeypatch.setattr(bootstrap, "_BLOCK", 700)
    drawn = bootstrap._resample_means(bootstrap.np.asarray(VALUES), 100, 0)
    assert drawn.shape == (100,)


def test_no_values_have_no_mean():
    with pytest.raises(ValueError, match="at least one"):
        estimate_mean([])
