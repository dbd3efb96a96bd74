from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from recollect import _tokenizer
from recollect.errors import InvalidInput, ModelUnavailable
from recollect.models.embedder import Embedder
from recollect.models.embedders import wordllama as module
from recollect.models.embedders.wordllama import MAX_CHARACTERS, WordLlamaEmbedder, sum_rows
from recollect.testing.embedder_contract import EmbedderContract

TEXTS = [
    "I adopted Toby from the shelter.",
    "ok",
    " leading and  double  blanks ",
    "Grüße aus Zürich, 東京 и Москва! 🐕",
    "nul \x00 inside and <s> a mark",
    "line\nbreaks\tand tabs",
    "a long story about a dog. " * 40,
    *(f"message {number} of many, said by Ada on day {number % 7}" for number in range(200)),
]

REFERENCE = """
import json, sys
from pathlib import Path
import wordllama
folder = Path(wordllama.__file__).parent
model = wordllama.WordLlama.load(dim=256, trunc_dim={trunc}, cache_dir=folder, disable_download=True)
print(json.dumps(model.embed(json.load(sys.stdin), norm=True).tolist()))
"""


class TestContract(EmbedderContract):
    @pytest.fixture(params=[256, 64])
    def embedder(self, request: pytest.FixtureRequest) -> Embedder:
        return WordLlamaEmbedder(request.param)


@pytest.mark.parametrize(("dimension", "trunc"), [(256, None), (128, 128)])
def test_vectors_are_wordllamas_own(dimension: int, trunc: int | None) -> None:
    # in a process of its own: importing wordllama sets up the root logger
    program = REFERENCE.format(trunc=trunc)
    ran = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(TEXTS), capture_output=True, text=True, check=True
    )
    theirs = np.array(json.loads(ran.stdout), dtype=np.float32)
    ours = asyncio.run(WordLlamaEmbedder(dimension).embed(TEXTS))
    assert np.einsum("ij,ij->i", ours, theirs).min() > 0.99999
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_embedding_imports_neither_wordllama_nor_what_it_pulls_in() -> None:
    program = (
        "import asyncio, sys; from recollect.models.embedders.wordllama import WordLlamaEmbedder;"
        "asyncio.run(WordLlamaEmbedder().embed(['hello']));"
        "print([name for name in ('wordllama', 'requests', 'pydantic', 'huggingface_hub') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


async def test_few_and_many_texts_give_the_same_rows() -> None:
    embedder = WordLlamaEmbedder()
    many = await embedder.embed(TEXTS)
    few = np.concatenate([await embedder.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(many, few, atol=1e-6)


async def test_blanks_are_zero_and_a_surrogate_is_a_question_mark() -> None:
    rows = await WordLlamaEmbedder().embed(["", " \n", "half \ud83d", "half ?"])
    assert not rows[:2].any()
    np.testing.assert_array_equal(rows[2], rows[3])


async def test_only_the_first_characters_count() -> None:
    text = "word " * MAX_CHARACTERS
    long, head = await WordLlamaEmbedder().embed([text, text[:MAX_CHARACTERS]])
    np.testing.assert_array_equal(long, head)


def test_add_up_sums_every_texts_rows() -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 4)).astype(np.float32)
    tokens = [rng.integers(0, 50, size).tolist() for size in [0, 1, 3, 3, 0, 64, 65, 200, *range(20)]]
    sums = np.zeros((len(tokens), 4), dtype=np.float32)
    sum_rows(table, tokens, sums)
    plain = np.stack([table[ids].sum(axis=0) if ids else np.zeros(4) for ids in tokens])
    np.testing.assert_allclose(sums, plain, atol=1e-4)


def test_a_dimension_that_the_wheel_lacks_is_refused() -> None:
    with pytest.raises(InvalidInput, match="512"):
        WordLlamaEmbedder(512)


@pytest.mark.parametrize("content", [None, b"no weights"])
def test_unreadable_weights_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None) -> None:
    (tmp_path / "weights").mkdir()
    if content is not None:
        (tmp_path / module.WEIGHTS_FILE).write_bytes(content)
    monkeypatch.setattr(module, "find_wordllama_folder", lambda: tmp_path)
    with pytest.raises(ModelUnavailable, match="reinstall wordllama"):
        module._read_table.__wrapped__(256)


def test_two_loops_and_threads_may_share_an_embedder() -> None:
    embedder = WordLlamaEmbedder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = (asyncio.run(embedder.embed(["hello there"])) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert _tokenizer.load_tokenizer().padding is None
