"""The port for embedding models. It has one verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["document", "query"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors.

    ``name`` identifies model and settings: vectors of two embedders with the same name can be compared.
    ``dimension`` is the length of every vector; 0 where there are none
    (:class:`recollect.models.embedders.none.NoEmbedder`).
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        """Embed texts: float32 of shape ``(len(texts), dimension)``, each row of length 1 (or all 0 for no words).

        Raises:
            ModelUnavailable: the model could not be loaded or reached.
        """
        ...
