"""An embedder that does not hold up the writers of a bank, and never embeds a text twice for the same write."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import numpy as np

from recollect.models.embedder import Embedder, Purpose, Vectors
from recollect.store.commit_retry import Write, current_write


class WriteEmbedder:
    """Embeds with another embedder. Within a write, it remembers the vectors and lets other writers go first.

    A write may derive its changes several times, because others were faster. Only texts that are new are embedded then.
    While the embedder works, the write does not have its turn, so an embedder that hangs delays nobody else.

    Args:
        embedder: the embedder of the bank's vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts. See :meth:`recollect.models.embedder.Embedder.embed`.

        Raises:
            ModelUnavailable: the model could not be loaded or reached.
            StaleWrite: within a write, others have written to the bank meanwhile. The write is tried again.
        """
        write = current_write()
        if write is None:
            return await _wait_or_abandon(self._embedder.embed(texts, purpose=purpose))
        known = write.vectors
        missing = [text for text in texts if (purpose, text) not in known]
        if missing:
            await write.wait_without_turn(self._embed_and_remember(missing, purpose, write))
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([known[purpose, text] for text in texts])

    async def _embed_and_remember(self, texts: Sequence[str], purpose: Purpose, write: Write) -> None:
        vectors = await self._embedder.embed(texts, purpose=purpose)
        write.vectors.update(((purpose, text), vector) for text, vector in zip(texts, vectors, strict=True))


async def _wait_or_abandon(work: Coroutine[Any, Any, Vectors]) -> Vectors:
    """Return the result of ``work``. If this task is cancelled, do not wait until ``work`` obeys its cancellation."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,))
        return task.result()
    finally:
        task.cancel()
