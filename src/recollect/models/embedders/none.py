"""The embedder for a memory without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from recollect.models.embedder import Purpose, Vectors

NAME: Final = "none"


class NoEmbedder:
    """Embeds every text as a vector without numbers, so that memory works only by words, links and time.

    A bank with this embedder stores no vectors. There is no similarity in it: no arm searches by meaning, and recipes
    derive nothing from similarity.
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
