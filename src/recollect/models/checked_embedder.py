"""An embedder whose vectors can be stored and compared, or else an error that names it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from recollect.domain.processes import HomeProcess
from recollect.domain.vectors import LARGEST_NUMBER, is_storable
from recollect.errors import ModelUnavailable, RecollectError
from recollect.models.embedder import Embedder, Purpose, Vectors
from recollect.models.failures import is_cancelled


class CheckedEmbedder:
    """Embeds with another embedder, and checks what it returns. Whatever it raises becomes an error of our tree.

    Args:
        embedder: any embedder, such as one of a user, which may return anything.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._home = HomeProcess()  # in a forked process, an embedder with threads waits for ever

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts: float32 of shape ``(len(texts), dimension)``, all numbers finite.

        Raises:
            ModelUnavailable: the embedder could not be reached, failed, or returned something else. The message names
                it.
            OpenedBeforeFork: it was used in the process from which this one was forked.
        """
        self._home.require()
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        try:
            vectors = await self._embedder.embed(texts, purpose=purpose)
        except (RecollectError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as exc:
            if isinstance(exc, asyncio.CancelledError) and is_cancelled():
                raise
            raise ModelUnavailable(f"the embedder {self.name} failed: {type(exc).__name__}: {exc}") from exc
        return check_vectors(vectors, (len(texts), self.dimension), self.name)


def check_vectors(vectors: object, shape: tuple[int, int], embedder: str) -> Vectors:
    """Return vectors as float32 of this shape.

    Raises:
        ModelUnavailable: they have another shape, or contain something that is no finite number.
    """
    try:
        with np.errstate(all="ignore"):  # what is too large for 32 bits becomes infinite
            checked: Vectors = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as exc:
        raise ModelUnavailable(f"the embedder {embedder} returned no array of numbers: {exc}") from exc
    if checked.shape != shape:
        raise ModelUnavailable(f"the embedder {embedder} returned vectors of the shape {checked.shape}, not {shape}")
    if not is_storable(checked):
        raise ModelUnavailable(
            f"the embedder {embedder} returned numbers that are not finite, or larger than {LARGEST_NUMBER:,.0f}"
        )
    return checked
