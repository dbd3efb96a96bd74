"""Score with a sentence-transformers cross-encoder, by name or folder. torch and the model are loaded on first use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recollect._tokenizer import replace_surrogates
from recollect.errors import MissingExtra, ModelUnavailable

MAX_CHARACTERS = 16_384


class CrossEncoderReranker:
    """Scores with a cross-encoder, in a thread, one call at a time.

    Text past the window of the model is cut, as sentence-transformers does, and text past 16,384 characters before
    that. Threads and event loops may share it.

    Args:
        model: a name on the model hub, or a folder. A folder needs no network.
        device: "cpu", "cuda" or "mps". None takes the best one.
        batch_size: the number of pairs in a forward pass.
    """

    def __init__(self, model: str | Path, *, device: str | None = None, batch_size: int = 32) -> None:
        self._source = model
        self._device = device
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        return str(self._source)

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return one score for each passage, in the same order. Higher is better, and only the order has a meaning.

        Raises:
            ModelUnavailable: the model could not be loaded, failed, or returned more than one number for a pair.
            MissingExtra: sentence-transformers is not installed.
        """
        if not passages:
            return []
        return await asyncio.to_thread(self._score, query, passages)

    def _score(self, query: str, passages: Sequence[str]) -> list[float]:
        asked = replace_surrogates(query[:MAX_CHARACTERS])
        pairs = [(asked, replace_surrogates(passage[:MAX_CHARACTERS])) for passage in passages]
        with self._lock:  # a fast tokenizer that pads raises "Already borrowed" if two threads use it
            if self._loaded is None:
                self._loaded = _load(self._source, self._device)
            scores = self._predict(pairs)
        if scores.shape != (len(passages),) or not np.isfinite(scores).all():
            raise ModelUnavailable(
                f"{self._source} gave scores of shape {scores.shape}; a reranker gives one number a pair"
            )
        return [float(score) for score in scores]

    def _predict(self, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
        try:
            return np.asarray(self._loaded.predict(pairs, batch_size=self._batch_size, show_progress_bar=False))
        except Exception as exc:  # torch and the code of the model may raise anything
            raise ModelUnavailable(f"{self._source} failed to score {len(pairs)} passages: {exc}") from exc


def _load(source: str | Path, device: str | None) -> Any:
    if isinstance(source, Path) and not source.is_dir():
        raise ModelUnavailable(f"{source} is no folder, so no reranker can be loaded from it")
    try:
        from sentence_transformers import CrossEncoder
    except ImportError as exc:
        raise MissingExtra("sentence-transformers", "transformers") from exc
    try:
        return CrossEncoder(str(source), device=device)
    except Exception as exc:  # any error of the hub, the file or torch means that there is no model
        raise ModelUnavailable(f"the reranker {source} could not be loaded: {exc}") from exc
