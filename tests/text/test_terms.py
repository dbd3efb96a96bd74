"""Words as search terms: folded, stemmed, hashed, the same in every process."""

import subprocess
import sys
import unicodedata
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.terms import STOP_WORDS, extract_terms, split_words


def same(one, other):
    return extract_terms(one).tolist() == extract_terms(other).tolist()


def test_a_term_is_the_crc32_of_a_stem_and_pinned():
    assert extract_terms("dogs").tolist() == [crc32(b"dog")] == [2167159165]
    assert extract_terms("Bicycle").tolist() == [crc32(b"bicycl")] == [414909675]
    assert extract_terms("café").tolist() == [crc32(b"cafe")] == [1337818896]


def test_terms_are_the_same_in_every_process():
    text = "Ada's dogs were running through São Paulo, 昨日 東京で 42 times"
    code = f"from recollect.text.terms import extract_terms; print(extract_terms({text!r}).tolist())"
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == str(extract_terms(text).tolist())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("adopted", "adopt"),
        ("BICYCLE", "bicycle"),
        ("résumé", "resume"),
        ("Zoë", "zoe"),
        ("Ada's", "Ada"),
        ("Ada’s dogs’", "ada dog"),
        ("ＡＢＣ", "abc"),
        ("e-mail", "e mail"),
        ("snake_case", "snake case"),
        ("before\0after", "before after"),
        ("ﬁnd", "find"),
        ("the dog and the cat", "dog cat"),
        ("don't", "it's"),
        ("Привет", "привет"),
    ],
)
def test_like_words_are_one_term(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("dog", "dig"), ("2023", "2024"), ("c3po", "c4po"), ("東京", "京都"), ("Ольга", "Игорь")]
)
def test_other_words_are_other_terms(one, other):
    assert not same(one, other)


def test_order_and_repeats_are_kept():
    dog, cat = extract_terms("dog")[0], extract_terms("cat")[0]
    assert extract_terms("dog, cat! Dog? The dogs").tolist() == [dog, cat, dog, dog]
    assert extract_terms("dog").dtype == np.uint32


@pytest.mark.parametrize("text", ["", " \t\n", "the of and", "?!…—", "\0\0", "🐕 👩‍👩‍👧", "___"])
def test_what_has_no_words_has_no_terms(text):
    assert extract_terms(text).shape == (0,)
    assert extract_terms(text).dtype == np.uint32


def test_stop_words_are_no_terms_in_any_case_and_are_words_all_the_same():
    assert extract_terms(" ".join(STOP_WORDS).upper()).size == 0
    assert split_words("The dog and I") == ["the", "dog", "and", "i"]
    assert split_words("Ada's rock'n'roll isn't") == ["ada", "rock", "n", "roll", "isn", "t"]


def test_scripts_without_spaces_give_pairs():
    assert split_words("昨日東京で") == ["昨日", "日東", "東京", "京で", "昨", "日", "東", "京"]
    assert split_words("東京") == ["東京", "東", "京"]
    assert split_words("犬") == ["犬"]
    assert split_words("iPhone15を買った!") == ["iphone15", "を買", "買っ", "った", "買"]
    assert set(extract_terms("東京")) <= set(extract_terms("昨日、東京で食べた"))
    assert split_words("서울에서 만났다") == ["서울에서", "만났다"]


def test_a_word_of_one_sign_is_found_in_a_sentence():
    assert set(extract_terms("犬")) <= set(extract_terms("犬が好き"))


@pytest.mark.parametrize("word", ["résumé", "Ångström", "señora"])
def test_accents_apart_are_accents(word):
    assert same(unicodedata.normalize("NFD", word), word)


def test_a_turkish_city_is_one_word():
    assert len(split_words("İstanbul")) == 1


def test_vowel_signs_belong_to_their_word():
    assert len(split_words("हिन्दी")) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("İstanbul", "istanbul"),
        ("STRASSE", "Straße"),
        ("ΟΔΟΣ", "οδος"),
        ("ﾊﾝﾊﾞｰｶﾞｰ", "ハンバーガー"),
        (unicodedata.normalize("NFD", "서울에서"), "서울에서"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_one_word_written_in_two_ways(one, other):
    assert same(one, other)


def test_vowel_signs_tell_words_apart():
    assert not same("दिन", "दान")
    assert split_words("मेरा नाम क्या_है") == ["मेरा", "नाम", "क्या", "है"]


def test_a_huge_word_is_cut_and_costs_one_term():
    assert extract_terms("a" * 100_000).shape == (1,)
    assert same("b" * 64, "b" * 5000)
    assert not same("b" * 63, "b" * 64)


def test_lone_surrogates_are_words_like_others():
    assert extract_terms("dog \ud83d cat").shape >= (2,)


@given(st.text(), st.text())
def test_terms_of_two_texts_are_the_terms_of_both(one, other):
    assert extract_terms(f"{one}\n{other}").tolist() == [*extract_terms(one).tolist(), *extract_terms(other).tolist()]


@given(st.text())
def test_terms_do_not_depend_on_what_was_asked_before(text):
    before = extract_terms(text).tolist()
    extract_terms("something else " + text[::-1])
    assert extract_terms(text).tolist() == before
    assert extract_terms(text.upper().lower()).tolist() == extract_terms(text.upper().lower()).tolist()
