"""The sentence-transformers adapters: errors always, the rest with a tiny random model where torch is installed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from recollect.errors import MissingExtra, ModelUnavailable
from recollect.models.embedder import Embedder
from recollect.models.embedders.sentence_transformers import SentenceTransformerEmbedder
from recollect.models.reranker import Reranker
from recollect.models.rerankers.cross_encoder import CrossEncoderReranker
from recollect.testing.embedder_contract import EmbedderContract
from recollect.testing.reranker_contract import RerankerContract

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!:"
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    "toby",
    "dog",
]


def _write_bert(folder: Path, kind: str, **settings: Any) -> Path:
    """A random BERT with two layers of 32 numbers, and its tokenizer, in a folder."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        **settings,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate(VOCABULARY)}
    backend = tokenizers.BertWordPieceTokenizer(vocabulary)
    marks = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend._tokenizer, model_max_length=64, **marks)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sentence_transformers")
    return _write_bert(tmp_path_factory.mktemp("bert"), "BertModel")


@pytest.fixture(scope="module")
def bert_embedder(bert: Path) -> Embedder:
    return SentenceTransformerEmbedder(bert, device="cpu")


@pytest.fixture(scope="module")
def bert_reranker(tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    pytest.importorskip("sentence_transformers")
    folder = _write_bert(tmp_path_factory.mktemp("cross"), "BertForSequenceClassification", num_labels=1)
    return CrossEncoderReranker(folder, device="cpu")


@pytest.mark.heavy
class TestEmbedder(EmbedderContract):
    understands = False

    @pytest.fixture
    def embedder(self, bert_embedder: Embedder) -> Embedder:
        return bert_embedder

    def test_dimension_is_the_models(self, embedder: Embedder) -> None:
        assert embedder.dimension == 32

    def test_prompts_are_put_before_texts(self, embedder: Embedder, bert: Path) -> None:
        prompted = SentenceTransformerEmbedder(bert, device="cpu", query_prompt="query: ", document_prompt="text: ")
        theirs = asyncio.run(embedder.embed(["query: toby", "text: toby"]))
        ours = [asyncio.run(prompted.embed(["toby"], purpose=purpose))[0] for purpose in ("query", "document")]
        np.testing.assert_allclose(np.stack(ours), theirs, atol=1e-5)
        assert prompted.name != embedder.name

    def test_a_models_own_prompts_are_used(self, embedder: Embedder, bert: Path, tmp_path: Path) -> None:
        import sentence_transformers

        own = {"query": "query: ", "passage": "text: "}
        sentence_transformers.SentenceTransformer(str(bert), device="cpu", prompts=own).save(str(tmp_path))
        prompted = SentenceTransformerEmbedder(tmp_path, device="cpu")
        theirs = asyncio.run(embedder.embed(["query: toby", "text: toby"]))
        ours = [asyncio.run(prompted.embed(["toby"], purpose=purpose))[0] for purpose in ("query", "document")]
        np.testing.assert_allclose(np.stack(ours), theirs, atol=1e-5)


@pytest.mark.heavy
class TestReranker(RerankerContract):
    understands = False

    @pytest.fixture
    def reranker(self, bert_reranker: Reranker) -> Reranker:
        return bert_reranker


@pytest.mark.heavy
def test_a_classifier_is_no_reranker(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    folder = _write_bert(tmp_path, "BertForSequenceClassification", num_labels=3)
    with pytest.raises(ModelUnavailable, match="one number a pair"):
        asyncio.run(CrossEncoderReranker(folder, device="cpu").score("toby", ["dog", "toby"]))


@pytest.mark.heavy
def test_a_damaged_folder_is_told(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        _ = SentenceTransformerEmbedder(tmp_path).dimension
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        asyncio.run(CrossEncoderReranker(tmp_path).score("q", ["p"]))


async def test_a_missing_folder_is_told_without_loading_torch(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="is not a folder"):
        await SentenceTransformerEmbedder(tmp_path / "none").embed(["text"])
    with pytest.raises(ModelUnavailable, match="is no folder"):
        await CrossEncoderReranker(tmp_path / "none").score("query", ["passage"])


async def test_the_extra_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"recollect\[transformers\]"):
        await SentenceTransformerEmbedder("some/model").embed(["text"])
    with pytest.raises(MissingExtra, match=r"recollect\[transformers\]"):
        await CrossEncoderReranker("some/model").score("query", ["passage"])


class _Model:
    """Stands in for a loaded model of sentence-transformers."""

    max_seq_length = 2

    def __init__(self, source: str, device: str | None) -> None:
        self.source = source

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], **settings: object) -> np.ndarray[Any, Any]:
        if "fail" in texts:
            raise RuntimeError("out of memory")
        return np.array([[len(text), 0, 0] for text in texts], dtype=np.float64)

    def predict(self, pairs: list[tuple[str, str]], **settings: object) -> list[float]:
        if pairs[0][0] == "fail":
            raise RuntimeError("out of memory")
        return [float(len(passage)) for _, passage in pairs]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = library.CrossEncoder = _Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)


@pytest.mark.usefixtures("stand_in")
async def test_a_models_failure_is_one_of_ours() -> None:
    with pytest.raises(ModelUnavailable, match="out of memory") as caught:
        await SentenceTransformerEmbedder("m").embed(["fail"])
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(ModelUnavailable, match="out of memory"):
        await CrossEncoderReranker("m").score("fail", ["passage"])


@pytest.mark.usefixtures("stand_in")
async def test_the_older_librarys_names_will_do() -> None:
    embedder = SentenceTransformerEmbedder("m")
    assert embedder.dimension == 3
    np.testing.assert_array_equal(
        await embedder.embed(["text", ""]), np.array([[1, 0, 0], [0, 0, 0]], dtype=np.float32)
    )
    assert await CrossEncoderReranker("m").score("q", ["one", "three"]) == [3.0, 5.0]
    assert await CrossEncoderReranker("m").score("q", []) == []
