"""The default embedder: static embeddings that are inside the wheel of wordllama.

The vector of a text is the mean of its tokens' vectors, scaled to length 1. wordllama computes nothing else. So this
module reads the two files of the wheel and adds up the rows itself. The vectors are the same: a test compares them with
those of wordllama. Loading takes about 0.1 s. Importing wordllama and loading takes 0.7 s. A batch is neither padded
nor multiplied by a mask, which makes it two to three times as fast. Nothing is ever downloaded.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recollect._tokenizer import encode, find_wordllama_folder, split_batches
from recollect.errors import InvalidInput, ModelUnavailable
from recollect.models.embedder import Purpose, Vectors
from recollect.models.embedders.vectors import normalize_rows

MAX_CHARACTERS = 16_384
DIMENSIONS = (64, 128, 256)

WEIGHTS_FILE = "weights/l2_supercat_256.safetensors"
WEIGHTS_KEY = "embedding.weight"
STEPWISE_TOKENS = 64
INLINE_TEXTS = 16
INLINE_CHARACTERS = 8_192

_loading = threading.Lock()


class WordLlamaEmbedder:
    """Embeds texts without a network, a GPU or a model hub: tens of thousands of short texts a second.

    Only the first 16,384 characters of a text (about 4,000 tokens) are embedded. A mean over more tokens says little,
    and a pasted file must not cost seconds. Queries and documents are embedded in the same way. The first use reads the
    files in a thread (about 0.1 s). Threads and event loops can share an embedder.

    Args:
        dimension: 256, or 128 or 64 for smaller banks. The model is trained so that its first components carry most of
            the information.

    Raises:
        InvalidInput: the wheel has no vectors of this dimension.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension not in DIMENSIONS:
            raise InvalidInput(f"dimension is {dimension}; wordllama has only vectors of the dimensions {DIMENSIONS}")
        self._dimension = dimension
        self._warm = False

    @property
    def name(self) -> str:
        return f"wordllama-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts. Return float32 of shape ``(len(texts), dimension)`` with rows of length 1. Rows of blank texts
        are 0.

        A few short texts are embedded directly, because a thread would cost more than the work. More texts go to a
        thread.

        Raises:
            ModelUnavailable: the files of wordllama are missing or cannot be read.
        """
        if self._warm and _is_small(texts):
            return self._embed(texts)
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        table = load_table(self._dimension)
        heads = ["" if text.isspace() else text[:MAX_CHARACTERS] for text in texts]
        sums = np.zeros((len(heads), self._dimension), dtype=np.float32)
        start = 0
        for batch in split_batches(heads):
            end = start + len(batch)
            sum_rows(table, encode(batch), sums[start:end])
            start = end
        self._warm = True
        return normalize_rows(sums)


def _is_small(texts: Sequence[str]) -> bool:
    return len(texts) <= INLINE_TEXTS and sum(map(len, texts)) <= INLINE_CHARACTERS


def load_table(dimension: int) -> Vectors:
    """Return the token table, float32 of shape ``(32000, dimension)``. It is read once in a process.

    Raises:
        ModelUnavailable: the file of wordllama is missing or cannot be read.
    """
    with _loading:
        return _read_table(dimension)


@cache
def _read_table(dimension: int) -> Vectors:
    from safetensors import SafetensorError, safe_open

    path = find_wordllama_folder() / WEIGHTS_FILE
    try:
        with safe_open(str(path), framework="np") as weights:
            table: NDArray[np.float16] = weights.get_tensor(WEIGHTS_KEY)
    except (OSError, SafetensorError) as exc:
        raise ModelUnavailable(f"no embeddings can be read from {path} ({exc}); reinstall wordllama") from exc
    return np.ascontiguousarray(table[:, :dimension], dtype=np.float32)


def sum_rows(table: Vectors, tokens: Sequence[Sequence[int]], sums: Vectors) -> None:
    """Add to each row of ``sums`` the table's rows for the tokens of that text.

    Short texts of a batch are added step by step: first the first token of every text, then the second token of every
    text that has one. This takes 0.1 s for 50,000 short texts. ``np.add.reduceat`` takes 0.9 s. A few texts, and long
    texts, are added one at a time.
    """
    counts = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    together = (counts <= STEPWISE_TOKENS) & (len(tokens) > INLINE_TEXTS)
    for row in np.flatnonzero(~together).tolist():
        sums[row] += table.take(tokens[row], axis=0).sum(axis=0)
    if together.any():
        rows = np.flatnonzero(together)
        rows = rows[np.argsort(-counts[rows], kind="stable")]
        sums[rows] += _sum_rows_stepwise(table, [tokens[row] for row in rows.tolist()], counts[rows])


def _sum_rows_stepwise(table: Vectors, tokens: Sequence[Sequence[int]], counts: NDArray[np.int64]) -> Vectors:
    """Return the sums of rows for texts that are sorted by their number of tokens, the longest first."""
    sums = np.zeros((len(tokens), table.shape[1]), dtype=np.float32)
    flat = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(counts.sum()))
    starts = np.cumsum(counts) - counts
    having = np.searchsorted(
        -counts, -np.arange(counts[0]), side="left"
    )  # the number of texts that have a token at each step
    for step, texts in enumerate(having):
        sums[:texts] += table.take(flat[starts[:texts] + step], axis=0)
    return sums
