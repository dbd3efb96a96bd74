"""New vectors for old items."""

from __future__ import annotations

from recollect.models.embedder import Embedder
from recollect.store.protocol import Store

BATCH = 1000


async def reembed(store: Store, embedder: Embedder) -> None:
    """Embed every item's text and put the vectors in place of the old ones, in one transaction.

    Raises:
        ModelUnavailable: the embedder could not be reached; the bank is as it was.
    """
    texts = await store.texts()
    vectors = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        embedded = await embedder.embed([text for _, text in batch])
        vectors.extend(zip((ref for ref, _ in batch), embedded, strict=True))
    await store.replace_vectors(embedder.name, embedder.dimension, vectors)
