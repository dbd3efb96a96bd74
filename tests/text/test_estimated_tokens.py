"""Where the tokenizer is missing: counts that are near the tokenizer's, and cuts that fit."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.sample import sample_path
from recollect.text.estimated_tokens import estimate_token_starts
from recollect.text.offsets import find_token_offset
from recollect.text.tokens import count_all, count_tokens


@pytest.fixture(scope="module")
def without_wordllama():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recollect._tokenizer.PACKAGE", "no_such_package")
        yield


def test_the_estimate_of_talk_is_near_the_count():
    with sample_path() as path:
        texts = re.findall(r'"text": "([^"\\]+)"', path.read_text("utf-8"))
    assert len(texts) > 100
    estimated, counted = sum(len(estimate_token_starts(text)) for text in texts), sum(count_all(texts))
    assert 0.95 * counted <= estimated <= 1.15 * counted


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe gestern mit meiner Schwester über den Umzug gesprochen.",
        "Вчера мы с сестрой говорили о переезде в Санкт-Петербург.",
        "昨天我和姐姐谈到了搬到北京的事情。",
        "어제 언니와 서울로 이사하는 것에 대해 이야기했다.",
        "def foo(bar):\n    return {k: v for k, v in bar.items()}\n",
        "2023-07-11T18:05:33Z 12345.6789 https://example.com/a?b=c",
    ],
)
def test_the_estimate_holds_for_other_writing(text):
    assert 0.85 * count_tokens(text) <= len(estimate_token_starts(text)) <= 1.8 * count_tokens(text)


@given(st.text(max_size=60))
def test_a_token_begins_where_it_was_counted(without_wordllama, text):
    count = count_tokens(text)
    starts = [find_token_offset(text, token) for token in range(count)]
    assert starts == sorted(starts)
    assert starts == estimate_token_starts(text)
    assert find_token_offset(text, count) == len(text)


def test_a_line_is_counted_as_its_parts(without_wordllama):
    assert count_all(["", " ", "Ada: ", "I swim.\n", "Ada: I swim.\n"]) == [0, 0, 2, 4, 6]


def test_a_long_text_is_cut_at_its_tokens(without_wordllama):
    text = "swim lake " * 5000
    assert text[find_token_offset(text, 7000) :].split()[0] in ("swim", "lake")
