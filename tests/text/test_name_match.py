"""Which texts name somebody for certain, and which only might."""

import pytest

from recollect.text.name_match import NameMatch, NameMatcher

CERTAIN, POSSIBLE, NONE = NameMatch.CERTAIN, NameMatch.POSSIBLE, NameMatch.NONE


@pytest.mark.parametrize("name", ["Toby", "toby", "TOBY", " Toby "])
@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("I met Toby in Leeds.", CERTAIN),
        ("i walked toby today", CERTAIN),
        ("TOBY IS THE BEST", CERTAIN),
        ("That is Toby's bowl, and toby’s too", CERTAIN),
        ("#toby and @toby are his handles", CERTAIN),
        ("a Toby-like dog", CERTAIN),
        ("TobyBoy123 is his login", POSSIBLE),
        ("toby_boy is his login", CERTAIN),
        ("tobys bowl", POSSIBLE),
        ("october", NONE),
        ("", NONE),
        ("Bob", NONE),
    ],
)
def test_a_name_is_found_however_it_is_spelled(name, text, match):
    assert NameMatcher([name]).match(text) is match


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("José", "Jose\u0301 came", CERTAIN),
        ("Jose", "José came", CERTAIN),
        ("Will", "I met Will there", CERTAIN),
        ("Will", "i will go", POSSIBLE),
        ("Rose", "the rose smelled", POSSIBLE),
        ("Toby Miller", "i met toby", POSSIBLE),
        ("Toby Miller", "TOBY MILLER's dog", CERTAIN),
        ("Toby Miller", "Toby, a miller", POSSIBLE),
        ("J. K. Rowling", "jk rowling", CERTAIN),
        ("O'Brien", "o’brien's and obrien", CERTAIN),
        ("Maria", "I met Marie", POSSIBLE),
        ("Maria", "the marie", NONE),
        ("田中", "田中さんが来た", CERTAIN),
        ("田中", "田さん", NONE),
        ("C", "C++ and C#", CERTAIN),
        ("???", "what???", NONE),
    ],
)
def test_what_else_might_be_meant(name, text, match):
    assert NameMatcher([name]).match(text) is match


def test_the_surest_name_counts():
    assert NameMatcher(["Will", "Toby"]).match("toby will come") is CERTAIN
    assert NameMatcher([]).match("anything") is NONE
