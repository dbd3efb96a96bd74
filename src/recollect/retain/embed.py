"""Embed items: choose the text and make the vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.items import Item, ItemKind
from recollect.errors import StaleWrite
from recollect.models.embedder import Embedder
from recollect.retain.turns import Turn, restore_turn
from recollect.store.protocol import StoreReader
from recollect.text.time_expressions import describe_interval

Floats = NDArray[np.float32]

ANSWER_WEIGHT = 0.5


async def embed_turns(turns: Sequence[Turn], embedder: Embedder) -> Floats:
    """Return the vectors of turns: float32 of shape ``(len(turns), dimension)``.

    An answer is often ten times as long as the message that it answers. But later questions ask for what a person said.
    So the opening words and the answers are embedded separately, and the answers count half.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    answered = [at for at, turn in enumerate(turns) if len(turn.parts) > 1]
    leads = [turn.parts[0].text for turn in turns]
    answers = ["\n".join(part.text for part in turns[at].parts[1:]) for at in answered]
    vectors = await embedder.embed([*leads, *answers])
    mixed = vectors[: len(turns)].copy()
    mixed[answered] += ANSWER_WEIGHT * vectors[len(turns) :]
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    units: Floats = np.divide(mixed, lengths, out=np.zeros_like(mixed), where=lengths > 0)
    return units


async def embed_items(items: Sequence[Item], reader: StoreReader, embedder: Embedder) -> Floats:
    """Return the vectors of stored items, as they were when the items were new: float32 ``(len(items), dimension)``.

    Raises:
        ModelUnavailable: the embedder could not be reached.
        StaleWrite: a message of an item was forgotten since the item was read.
    """
    turns = [at for at, item in enumerate(items) if item.kind is ItemKind.TURN]
    rest = [at for at, item in enumerate(items) if item.kind is not ItemKind.TURN]
    sources = {m.id: m for m in await reader.messages({s for at in turns for s in items[at].sources})}
    if any(source not in sources for at in turns for source in items[at].sources):
        raise StaleWrite("a message of an item was forgotten while the item was being embedded")
    vectors = np.zeros((len(items), embedder.dimension), dtype=np.float32)
    if turns:
        rebuilt = [restore_turn(items[at], [sources[s] for s in items[at].sources]) for at in turns]
        vectors[turns] = await embed_turns(rebuilt, embedder)
    if rest:
        vectors[rest] = await embedder.embed([text_to_embed(items[at]) for at in rest])
    return vectors


def text_to_embed(item: Item) -> str:
    """Return an item's text, followed by its times in words that the text does not contain (section 4.1.2)."""
    said = (describe_interval(occurrence.interval) for occurrence in item.occurrences)
    unsaid = [words for words in dict.fromkeys(said) if words not in item.text]
    return f"{item.text} ({'; '.join(unsaid)})" if unsaid else item.text
