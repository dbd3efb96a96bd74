"""Measure how similar the units of a conversation are to earlier ones: the signal of recurrence (RecMem, equation
5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.app import Memory
from recollect.domain.codec import from_json
from recollect.domain.items import IndexedItem, ItemKind
from recollect.models.embedder import Embedder
from recollect_lab.datasets.dataset import DatasetConversation

Floats = NDArray[np.float32]

COUNTS: Final = (3, 4, 5, 6)
"""The values of theta_count in the paper (RecMem, appendix C.1)."""

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


async def embed_units(conversation: DatasetConversation, embedder: Embedder) -> Floats:
    """Return the vectors of the units of a conversation, in the order of retaining: float32, ``(units, dimension)``.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    async with Memory.open(":memory:", embedder=embedder, model="none") as memory:
        bank = await memory.bank("conversation")
        for session in conversation.sessions:
            await bank.retain(session.messages, session=session.id)
        lines = [json.loads(line) async for line in bank.export()]
    entries = [
        from_json(IndexedItem, {name: cell for name, cell in line.items() if name != "type"})
        for line in lines
        if line["type"] == "item"
    ]
    vectors = [entry.vector for entry in entries if entry.item.kind is ItemKind.TURN]
    return np.stack(vectors) if vectors else np.zeros((0, embedder.dimension), dtype=np.float32)


def compute_quantiles(values: Floats) -> Mapping[str, float]:
    """Return the quantiles of values by name ("q50" is the median). The result is empty if there are no values."""
    if not len(values):
        return {}
    return {f"q{round(share * 100):02}": float(np.quantile(values, share)) for share in QUANTILES}
