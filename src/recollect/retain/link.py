"""Link new items to each other and to stored items (Hindsight, section 4.1.4). The cost of a write stays constant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from recollect.domain.entities import Mention
from recollect.domain.items import IndexedItem, Item
from recollect.domain.links import Link, LinkKind

Floats = NDArray[np.float32]

_NEAR = 2048  # vectors of one call that are compared with each other
_MOST_ALIKE = 8  # times as many similar vectors as there will be links


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """The number of links of an item: to items before it in time, to similar items, and to items of each entity."""

    temporal: int = 2
    temporal_sigma: timedelta = timedelta(days=1)
    semantic: int = 3
    semantic_threshold: float = 0.6
    entity: int = 3


def make_temporal_links(items: Sequence[Item], before: Sequence[Item], settings: LinkSettings) -> Iterator[Link]:
    """Yield links from each item to the last items before it (equation 4). The weight is ``exp(-dt / sigma)``."""
    line = [*before, *items]
    for at in range(len(before), len(line)):
        for earlier in line[max(0, at - settings.temporal) : at]:
            apart = abs(line[at].mentioned - earlier.mentioned)
            weight = math.exp(-(apart / settings.temporal_sigma))
            if weight > 0.01 and line[at].id != earlier.id:
                yield Link(source=line[at].id, target=earlier.id, kind=LinkKind.TEMPORAL, weight=weight)


def make_semantic_links(
    items: Sequence[IndexedItem], nearest: Sequence[Sequence[tuple[str, float]]], settings: LinkSettings
) -> Iterator[Link]:
    """Yield links from each item to the most similar ones, in the bank and before it in the batch (equation 5).

    The weight is the cosine.
    """
    if not items:
        return
    among = _find_similar([entry.vector for entry in items], settings)
    for at, entry in enumerate(items):
        alike = {id_: score for id_, score in nearest[at] if score >= settings.semantic_threshold}
        alike |= {items[other].item.id: score for other, score in among.get(at, ())}
        alike.pop(entry.item.id, None)
        for target in sorted(alike, key=lambda id_: (-alike[id_], id_))[: settings.semantic]:
            yield Link(source=entry.item.id, target=target, kind=LinkKind.SEMANTIC, weight=min(alike[target], 1.0))


def _find_similar(vectors: Sequence[Floats], settings: LinkSettings) -> dict[int, list[tuple[int, float]]]:
    """Return, for each vector, similar vectors before it: each with its place and its cosine.

    Only the :data:`_NEAR` vectors before it or more are compared, and few of very many are returned. So the time and
    the memory are linear in the number of vectors.
    """
    matrix, most = np.stack(vectors), _MOST_ALIKE * settings.semantic
    alike: dict[int, list[tuple[int, float]]] = {}
    for start in range(0, len(matrix), _NEAR):
        first = max(0, start - _NEAR)
        cosines = matrix[start : start + _NEAR] @ matrix[first : start + _NEAR].T
        cosines[np.arange(first, first + cosines.shape[1]) >= np.arange(start, start + len(cosines))[:, None]] = -1.0
        similar = cosines >= settings.semantic_threshold
        for row in np.flatnonzero(similar.any(axis=1)).tolist():
            columns = np.flatnonzero(similar[row])
            if len(columns) > most:
                columns = np.argpartition(-cosines[row], most)[:most]
            alike[start + row] = list(zip((columns + first).tolist(), cosines[row, columns].tolist(), strict=True))
    return alike


def make_entity_links(
    mentions: Iterable[Mention], recent: Mapping[str, Sequence[str]], settings: LinkSettings
) -> Iterator[Link]:
    """Yield links from each item to the last ones that mention the same entity (equation 3).

    The weight is 1, and the label is the entity.
    """
    last = {entity: list(items) for entity, items in recent.items()}
    # An item may name an entity twice, in different words. It is linked once.
    for entity, source in dict.fromkeys((mention.entity, mention.item) for mention in mentions):
        others = [item for item in last.get(entity, ()) if item != source]
        for target in others[: settings.entity]:
            yield Link(source=source, target=target, kind=LinkKind.ENTITY, weight=1.0, label=entity)
        last[entity] = [source, *others][: settings.entity]
