from datetime import UTC, datetime

import numpy as np
import pytest

from recollect.domain.messages import Message
from recollect.testing.models import HashEmbedder
from recollect_lab.cost.similarity import compute_quantiles, embed_units
from recollect_lab.datasets.dataset import DatasetConversation, DatasetSession

AT = datetime(2024, 5, 1, tzinfo=UTC)


def test_quantiles_go_by_name():
    found = compute_quantiles(np.arange(101, dtype=np.float32) / 100)
    assert list(found) == ["q05", "q25", "q50", "q75", "q90", "q95", "q99"]
    assert list(found.values()) == pytest.approx([0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    assert compute_quantiles(np.zeros(0, dtype=np.float32)) == {}


async def test_vectors_are_those_of_the_units_in_the_order_kept():
    embedder = HashEmbedder(16)
    texts = ("the oven died", "Toby barked", "again the oven")
    said = [Message(id=str(n), text=text, at=AT) for n, text in enumerate(texts)]
    sessions = (
        DatasetSession(id="b", at=AT, messages=tuple(said[:2])),
        DatasetSession(id="a", at=AT, messages=tuple(said[2:])),
    )
    vectors = await embed_units(DatasetConversation(id="c", sessions=sessions, questions=()), embedder)
    assert np.allclose(vectors, await embedder.embed(texts), atol=1e-3)
    empty = await embed_units(DatasetConversation(id="c", sessions=(), questions=()), embedder)
    assert empty.shape == (0, 16)
