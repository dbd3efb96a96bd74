"""New vectors for old items."""

from __future__ import annotations

from recollect.models.embedder import Embedder
from recollect.retain.embed import embed_items
from recollect.store.protocol import Store


async def reembed(store: Store, embedder: Embedder) -> None:
    """Embed every item and put the vectors in place of the old ones, in one transaction.

    Raises:
        ModelUnavailable: the embedder could not be reached; the bank is as it was.
    """
    vectors = []
    async for changes in store.dump():
        items = [entry.item for entry in changes.items]
        if items:
            embedded = await embed_items(items, store, embedder)
            vectors.extend(zip((item.id for item in items), embedded, strict=True))
    await store.replace_vectors(embedder.name, embedder.dimension, vectors)
