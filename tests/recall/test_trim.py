"""Equation 17: as much evidence as fits, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.trim import count_fitting


@pytest.mark.parametrize(
    ("tokens", "budget", "count"),
    [
        ([3, 4, 5], 7, 2),  # an exact fit
        ([3, 4, 5], 6, 1),
        ([3, 4, 5], 12, 3),
        ([3, 4, 5], 99, 3),
        ([9, 1, 1], 5, 0),  # the first over the budget ends it: nothing smaller slips past it
        ([1, 9, 1], 5, 1),
        ([0, 0, 5], 1, 2),
        ([], 5, 0),
        ([3, 4, 5], None, 3),
        ([], None, 0),
    ],
)
def test_equation_17(tokens, budget, count):
    assert count_fitting(tokens, budget) == count


@given(st.lists(st.integers(0, 20)), st.integers(1, 60))
def test_as_much_as_fits_and_no_more(tokens, budget):
    count = count_fitting(tokens, budget)
    assert sum(tokens[:count]) <= budget
    assert count == len(tokens) or sum(tokens[: count + 1]) > budget
