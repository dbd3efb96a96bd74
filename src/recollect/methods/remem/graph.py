"""Make the edges of the memory graph (REMem, section 3.1 and Algorithm 1): from gists to triples, and between gists.

A triple is itself the edge between its phrases. A context edge leads to the triple, and so to both phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.methods.remem.settings import IndexSettings
from recollect.store.protocol import StoreReader

SAME_MESSAGE: Final = 1.0
SAME_CHUNK: Final = 0.5

_OWN_MEANING: Final = Weights(surroundings=0.0)  # the neighbours of a gist do not count
_ROUNDING: Final = 5e-4  # a cosine of half-precision vectors may be too small by this much
_DIGITS: Final = 6  # of a weight; later digits depend on how many gists were compared at once

Vector = NDArray[np.float64]


def make_context_links(gists: Sequence[Item], triples: Sequence[Item]) -> Iterator[Link]:
    """Yield a link from every gist of a chunk to every triple of the chunk (Algorithm 1, lines 12 to 14).

    The link is heavier if the gist and the triple share a message.
    """
    for gist in gists:
        for triple in triples:
            apart = set(gist.sources).isdisjoint(triple.sources)
            weight = SAME_CHUNK if apart else SAME_MESSAGE
            yield Link(source=gist.id, target=triple.id, kind=LinkKind.CONTEXT, weight=weight)


async def make_synonymy_links(
    gists: Sequence[IndexedItem], reader: StoreReader, settings: IndexSettings, *, without: frozenset[str]
) -> list[Link]:
    """Return links from new gists to the most similar others (Algorithm 1, lines 15 to 17).

    The others are in the bank, or earlier in the batch.

    The index of the bank finds its gists, so that not all pairs are compared. The gists in ``without`` are excluded,
    because they are about to be superseded or replaced.
    """
    if not settings.synonyms:
        return []
    near = [await _find_near_gists(entry, reader, settings, without) for entry in gists]
    known = await reader.vectors({id_ for ids in near for id_ in ids})
    kept = {id_: _round_as_stored(vector) for id_, vector in known.items()}
    return await run_in_thread(_link_near_gists, gists, near, kept, settings)


def _link_near_gists(
    gists: Sequence[IndexedItem], near: Sequence[Sequence[str]], kept: Mapping[str, Vector], settings: IndexSettings
) -> list[Link]:
    """Link each gist to the gists near it that have a stored vector, and to the earlier gists of the batch.

    A batch may have hundreds of gists.
    """
    batch = [entry.item.id for entry in gists]
    vectors = np.array([_round_as_stored(entry.vector) for entry in gists])
    links: list[Link] = []
    for place, id_ in enumerate(batch):
        there = [other for other in near[place] if other in kept]
        others = np.array([kept[other] for other in there]).reshape(len(there), vectors.shape[1])
        cosines = np.concatenate([others @ vectors[place], vectors[:place] @ vectors[place]])
        links.extend(_make_synonyms(id_, [*there, *batch[:place]], cosines, settings))
    return links


async def _find_near_gists(
    entry: IndexedItem, reader: StoreReader, settings: IndexSettings, without: frozenset[str]
) -> list[str]:
    probe = SearchProbe(topic="", vector=entry.vector, terms=np.empty(0, dtype=np.uint32))
    search = await reader.search(probe, Scope(kinds=(ItemKind.GIST,), exclude=without), _OWN_MEANING)
    hits = await search.semantic(settings.synonyms)
    alike = hits.refs[hits.scores >= settings.theta_syn - 2 * _ROUNDING]
    return [item.id for _, item in await search.load(alike)]


def _make_synonyms(id_: str, others: Sequence[str], cosines: Vector, settings: IndexSettings) -> list[Link]:
    """Link a gist to the most similar of the others: a limited number, and only those that are similar enough."""
    enough = np.flatnonzero(cosines >= settings.theta_syn - _ROUNDING).tolist()
    alike = {others[at]: min(round(float(cosines[at]), _DIGITS), 1.0) for at in enough}
    chosen = sorted(alike, key=lambda other: (-alike[other], other))[: settings.synonyms]
    return [Link(source=id_, target=other, kind=LinkKind.SYNONYMY, weight=alike[other]) for other in chosen]


def _round_as_stored(vector: NDArray[np.float32]) -> Vector:
    """Return a vector as the store would return it.

    So two gists of one batch have the same similarity as if one had been stored before the other.
    """
    return vector.astype(np.float16).astype(np.float64)
