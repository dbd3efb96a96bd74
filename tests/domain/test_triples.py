"""Phrases that are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.triples import fold_phrase


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("New York", " new\t YORK\n"),
        ("Ｅ92", "e92"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "CAFE\u0301"),
        ("1\u00a0km", "1 KM"),
        ("", "  "),
    ],
)
def test_case_width_and_blanks_make_no_difference(one, other):
    assert fold_phrase(one) == fold_phrase(other)


@pytest.mark.parametrize(("one", "other"), [("E1", "E 1"), ("resume", "r\u00e9sum\u00e9"), ("cat", "cats"), ("a", "")])
def test_anything_else_does(one, other):
    assert fold_phrase(one) != fold_phrase(other)


@given(st.text())
def test_the_key_of_a_key_is_the_key(phrase):
    assert fold_phrase(fold_phrase(phrase)) == fold_phrase(phrase)
