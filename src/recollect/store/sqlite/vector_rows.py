"""Read the vectors of a bank's file, and notice damaged ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.vectors import is_storable
from recollect.errors import NotABank


def unpack_vectors(blobs: Sequence[bytes], embedder: str, dimension: int) -> NDArray[np.float32]:
    """Return stored vectors: float32 of shape ``(len(blobs), dimension)``.

    SQLite has no checksums, so a damaged vector is only noticed here.

    Raises:
        NotABank: a vector is damaged. It has another length, or contains numbers that are not finite.
    """
    whole = all(len(blob) == 2 * dimension for blob in blobs)
    vectors = np.frombuffer(b"".join(blobs), dtype="<f2").astype(np.float32) if whole else np.empty(0, np.float32)
    if not whole or not is_storable(vectors):
        raise NotABank(
            f"the bank is damaged: a stored vector does not consist of {dimension} finite numbers, as those of the "
            f"embedder {embedder} do. To make all vectors again: recollect rebuild NAME"
        )
    return vectors.reshape(len(blobs), dimension)
