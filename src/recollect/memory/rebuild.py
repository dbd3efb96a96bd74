"""Replace the vectors of all items."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item
from recollect.errors import StaleWrite
from recollect.models.embedder import Embedder
from recollect.retain.embed import embed_items
from recollect.store.commit_retry import write_in_turn
from recollect.store.protocol import Store

Vectors = dict[str, NDArray[np.float32]]

ROUNDS: Final = 3
"""The number of times that new items are embedded while others may write. After that, the other writers wait."""

FEW_ITEMS: Final = 256
_BATCH: Final = 1_000


async def embed_anew(store: Store, embedder: Embedder) -> None:
    """Embed every item and replace its vector, all in one transaction.

    Others may write while the items are embedded. Items that they write are embedded in further rounds, the last of
    them in the turn of this write, so that nobody can keep it from ending.

    Raises:
        ModelUnavailable: the embedder could not be reached. The bank is unchanged.
    """
    vectors: Vectors = {}
    seen = await store.version()
    async for changes in store.dump(vectors=False):  # damaged vectors are mended
        await _embed_into(vectors, [entry.item for entry in changes.items], store, embedder)
    for _ in range(ROUNDS):
        now = await store.version()
        items = await store.items_after(seen)
        if len(items) <= FEW_ITEMS:
            break
        await _embed_into(vectors, items, store, embedder)
        seen = now

    async def replace() -> None:
        now = await store.version()
        await _embed_into(vectors, await store.items_after(seen), store, embedder)
        await store.replace_vectors(embedder.name, embedder.dimension, list(vectors.items()), expected_version=now)

    await write_in_turn(store, replace)


async def _embed_into(vectors: Vectors, items: list[Item], store: Store, embedder: Embedder) -> None:
    for start in range(0, len(items), _BATCH):
        batch = items[start : start + _BATCH]
        vectors.update(await _embed_present(batch, store, embedder))


async def _embed_present(items: list[Item], store: Store, embedder: Embedder) -> Vectors:
    """Return the vectors of the items that are still there. Others may forget messages of them meanwhile."""
    while True:
        try:
            embedded = await embed_items(items, store, embedder)
        except StaleWrite:
            items = await store.items([item.id for item in items])
        else:
            return dict(zip((item.id for item in items), embedded, strict=True))
