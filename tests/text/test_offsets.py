"""Where tokens begin: in the text as it is counted, and never within a character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect._tokenizer import load_tokenizer
from recollect.text.offsets import find_token_offset
from recollect.text.tokens import PIECE_CHARACTERS, count_tokens


def test_a_token_begins_with_the_blank_before_its_word():
    text = "Ada met Toby"
    assert [text[find_token_offset(text, token) :] for token in range(count_tokens(text))] == [
        "Ada met Toby",
        " met Toby",
        " Toby",
        "oby",
    ]
    assert find_token_offset(text, 4) == find_token_offset(text, 99) == len(text)
    assert find_token_offset("", 0) == 0


def test_the_bytes_of_a_character_begin_where_it_does():
    text = "a🐕b"
    assert [find_token_offset(text, token) for token in range(count_tokens(text))] == [0, 1, 1, 1, 1, 2]


def test_a_text_longer_than_a_piece_has_the_offsets_of_the_whole():
    text = "one two  three\n" * 2000
    assert len(text) > 3 * PIECE_CHARACTERS
    whole = load_tokenizer().encode(text, add_special_tokens=False).offsets
    assert count_tokens(text) == len(whole)
    for token in range(0, len(whole), 97):
        assert abs(find_token_offset(text, token) - whole[token][0]) <= 1  # the blank that a piece ends at is nobody's


@pytest.mark.parametrize("text", ["x" * 20_000, "东京" * 6000])
def test_a_text_without_blanks_is_cut_anyway(text):
    offsets = [find_token_offset(text, token) for token in (0, 1, count_tokens(text) - 1, count_tokens(text))]
    assert offsets == sorted(offsets)
    assert (offsets[0], offsets[-1]) == (0, len(text))


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_every_token_has_a_place(text):
    count = count_tokens(text)
    offsets = [find_token_offset(text, token) for token in range(count + 1)]
    assert offsets == sorted(offsets)
    assert all(0 <= offset <= len(text) for offset in offsets)
    assert offsets[-1] == len(text)
