"""The embedder for a memory without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from recollect.models.embedder import Purpose, Vectors

NAME: Final = "none"


class NoEmbedder:
    """Give every text a vector of no numbers, so that memory works by words, links and time alone.

    A bank of this embedder stores no vectors. Nothing is like anything else there: no arm finds by meaning, and nothing
    that a recipe derives from likeness is made.
    """

    @property
    def name(self) -> str:
        return NAME

    @property
    def dimension(self) -> int:
        return 0

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Return float32 of shape ``(len(texts), 0)``."""
        return np.empty((len(texts), 0), dtype=np.float32)
