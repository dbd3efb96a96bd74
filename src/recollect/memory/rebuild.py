"""Replace the vectors of all items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.errors import StaleWrite
from recollect.models.embedder import Embedder
from recollect.retain.embed import embed_items
from recollect.store.protocol import Store

_ATTEMPTS = 5


async def embed_anew(store: Store, embedder: Embedder) -> None:
    """Embed every item and replace its vector, all in one transaction.

    Raises:
        ModelUnavailable: the embedder could not be reached. The bank is unchanged.
        StaleWrite: others wrote to the bank during every try. The bank is unchanged.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return await _embed_anew_once(store, embedder)
        except StaleWrite:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


async def _embed_anew_once(store: Store, embedder: Embedder) -> None:
    seen = await store.version()
    vectors: list[tuple[str, NDArray[np.float32]]] = []
    async for changes in store.dump(vectors=False):  # damaged vectors are mended
        items = [entry.item for entry in changes.items]
        if items:
            embedded = await embed_items(items, store, embedder)
            vectors.extend(zip((item.id for item in items), embedded, strict=True))
    await store.replace_vectors(embedder.name, embedder.dimension, vectors, expected_version=seen)
