from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import _tokenizer
from recollect.errors import ModelUnavailable
from recollect.text.tokens import count_all, count_tokens, split_pieces


def test_counting_imports_neither_wordllama_nor_its_dependencies() -> None:
    program = (
        "import sys; from recollect.text.tokens import count_tokens; assert count_tokens('hello world') == 2;"
        "print([name for name in ('wordllama', 'requests', 'pydantic', 'numpy') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_tokenizer_is_read_once() -> None:
    assert _tokenizer.load_tokenizer() is _tokenizer.load_tokenizer()


def test_counts_are_the_tokenizers_own() -> None:
    texts = ["", "hello", "hello world", "Grüße 🐕", "nul \x00", " two  blanks "]
    plain = [len(_tokenizer.load_tokenizer().encode(text, add_special_tokens=False).ids) for text in texts]
    assert count_all(texts) == plain
    assert [count_tokens(text) for text in texts] == plain
    assert count_tokens("") == 0


def whole(text: str) -> list[int]:
    """The tokens of a text that is encoded at once."""
    return _tokenizer.load_tokenizer().encode(text, add_special_tokens=False).ids


def test_no_token_goes_on_behind_a_blank() -> None:
    """Which is why the words of a text can be encoded apart."""
    vocabulary = _tokenizer.load_tokenizer().get_vocab()
    assert [token for token in vocabulary if "▁" in token.lstrip("▁")] == []


@given(st.text(alphabet="ab \n<s>/▁é東\u0301", max_size=30), st.text(max_size=20))
def test_words_encoded_apart_are_the_text(near: str, far: str) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in (near, far, f"{near} {far}")]
    assert _tokenizer.encode(texts) == list(map(whole, texts))
    assert _tokenizer.encode(texts) == list(map(whole, texts))  # now that they are known


def test_words_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tokenizer, "MAX_CACHED_WORDS", 10)
    monkeypatch.setattr(_tokenizer, "_words", {})
    long = "x" * 100
    texts = [f"word{number} and {long}" for number in range(30)]
    assert [_tokenizer.encode([text])[0] for text in texts] == list(map(whole, texts))
    assert len(_tokenizer._words) <= 10
    assert long not in _tokenizer._words


def test_a_lone_surrogate_is_counted_as_a_question_mark() -> None:
    assert count_tokens("half \ud83d pair") == count_tokens("half ? pair")


def test_no_texts_have_no_counts() -> None:
    assert count_all([]) == []


def test_a_long_text_is_counted_in_pieces_to_the_same_number() -> None:
    text = "Ada said  that Toby, the dog,\n had  been ill. " * 2000
    assert len(list(split_pieces(text))) > 10
    assert count_tokens(text) == len(_tokenizer.load_tokenizer().encode(text, add_special_tokens=False).ids)


def test_counts_stay_with_their_texts_where_some_are_long() -> None:
    texts = ["one", "word " * 5000, "", "two words"]
    assert count_all(texts) == [count_tokens(text) for text in texts]


@given(st.text(alphabet="ab \n", max_size=200), st.integers(min_value=1, max_value=30))
def test_pieces_lose_nothing_but_the_blank_they_are_cut_at(text: str, size: int) -> None:
    cut = list(split_pieces(text, size))
    assert "".join(cut).replace(" ", "") == text.replace(" ", "")
    assert all(len(piece) <= size for piece in cut)
    assert len(text) - sum(map(len, cut)) <= len(cut) - 1


@given(st.lists(st.integers(min_value=0, max_value=5), max_size=30))
def test_batches_keep_the_order_and_the_bounds(lengths: list[int]) -> None:
    texts = ["x" * length for length in lengths]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tokenizer, "BATCH_TEXTS", 4)
        patch.setattr(_tokenizer, "BATCH_CHARACTERS", 8)
        runs = list(_tokenizer.split_batches(texts))
    assert [text for run in runs for text in run] == texts
    assert all(run and len(run) <= 4 and sum(map(len, run)) <= 8 for run in runs)


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="pip install"):
        _tokenizer.find_wordllama_folder()


def test_an_unreadable_tokenizer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_tokenizer, "find_wordllama_folder", lambda: tmp_path)
    with pytest.raises(ModelUnavailable, match="reinstall wordllama"):
        _tokenizer._read_tokenizer.__wrapped__()
