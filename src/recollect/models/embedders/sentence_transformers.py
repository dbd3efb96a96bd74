"""The embedder for any sentence-transformers model, by name or folder. It loads torch and the model on first use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recollect._tokenizer import replace_surrogates
from recollect.errors import MissingExtra, ModelUnavailable
from recollect.models.embedder import Purpose, Vectors
from recollect.models.embedders.vectors import name_with_prompt, normalize_rows

CHARACTERS_PER_TOKEN = 16
PROMPT_NAMES: dict[Purpose, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}


class SentenceTransformerEmbedder:
    """Embeds texts with a sentence-transformers model, in a thread, one call at a time.

    The model's own prompts for queries and documents are used if it has any. Text beyond the model's window is cut by
    sentence-transformers. Threads and event loops can share an embedder.

    Args:
        model: a name on the model hub, or a folder. A folder needs no network.
        device: "cpu", "cuda" or "mps". ``None`` means the best available device.
        query_prompt: put before each query, instead of the model's own prompt.
        document_prompt: put before each document, instead of the model's own prompt. It is a part of the embedder's
            name.
        batch_size: the number of texts in a forward pass.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        batch_size: int = 32,
    ) -> None:
        self._source = model
        self._device = device
        self._prompts: dict[Purpose, str | None] = {"query": query_prompt, "document": document_prompt}
        self._batch_size = batch_size
        self._lock = threading.RLock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        return name_with_prompt(str(self._source), self._prompts["document"])

    @property
    def dimension(self) -> int:
        """Return the length of the vectors. The first call loads the model, which takes seconds.

        Raises:
            ModelUnavailable: the model could not be loaded.
            MissingExtra: sentence-transformers is not installed.
        """
        model = self._model()
        # renamed in sentence-transformers 6, which warns about the old name
        ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(ask())

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts. Return float32 of shape ``(len(texts), dimension)`` with rows of length 1. Rows of blank texts
        are 0.

        Raises:
            ModelUnavailable: the model could not be loaded, or it failed.
            MissingExtra: sentence-transformers is not installed.
        """
        return await asyncio.to_thread(self._embed, texts, purpose)

    def _embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        with self._lock:  # a fast tokenizer that pads raises "Already borrowed" if two threads use it
            model = self._model()
            vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
            rows = [row for row, text in enumerate(texts) if text and not text.isspace()]
            if rows:
                vectors[rows] = self._encode(model, [texts[row] for row in rows], self._prompt(model, purpose))
            return normalize_rows(vectors)

    def _encode(self, model: Any, texts: list[str], prompt: str | None) -> Vectors:
        limit = CHARACTERS_PER_TOKEN * int(model.max_seq_length or 8192)  # the model would cut the rest anyway
        try:
            encoded = model.encode(
                [replace_surrogates(text[:limit]) for text in texts],
                prompt=prompt,
                batch_size=self._batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except Exception as exc:  # torch and the code of the model may raise any error
            raise ModelUnavailable(f"{self._source} failed to embed {len(texts)} texts: {exc}") from exc
        return np.asarray(encoded, dtype=np.float32)

    def _prompt(self, model: Any, purpose: Purpose) -> str | None:
        given = self._prompts[purpose]
        own: dict[str, str] = getattr(model, "prompts", None) or {}
        return (
            given if given is not None else next((own[name] for name in PROMPT_NAMES[purpose] if own.get(name)), None)
        )

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._source, self._device)
            return self._loaded


def _load(source: str | Path, device: str | None) -> Any:
    if isinstance(source, Path) and not source.is_dir():
        raise ModelUnavailable(f"{source} is not a folder, so no embedding model can be loaded from it")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as exc:
        raise MissingExtra("sentence-transformers", "transformers") from exc
    try:
        return SentenceTransformer(str(source), device=device)
    except Exception as exc:  # any error of the hub, the file or torch means that there is no model
        raise ModelUnavailable(f"the embedding model {source} could not be loaded: {exc}") from exc
