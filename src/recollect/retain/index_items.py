"""Index items that a model made: add vectors, terms, entities and links (Hindsight, sections 4.1.3 and 4.1.4).

Facts, opinions, observations, episodes and semantic facts are linked only to each other. A turn is always the most
similar to the fact that was made of it, and was always said at the same moment. Its links would take the place of more
useful links.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from recollect._threads import run_in_thread
from recollect.domain.changes import Changeset
from recollect.domain.entities import EntityKind
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.links import Link
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, Precision
from recollect.models.embedder import Embedder
from recollect.retain.directory import Resolution
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.extract import MOST_NAMES
from recollect.retain.link import LinkSettings, make_entity_links, make_semantic_links, make_temporal_links
from recollect.retain.name_similarity import ResolveSettings
from recollect.retain.resolve import NameOccurrence
from recollect.retain.resolve import resolve_names as resolve_names
from recollect.store.protocol import StoreReader
from recollect.store.search import Hits
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_all

INDEXED_KINDS: Final = (ItemKind.FACT, ItemKind.OPINION, ItemKind.OBSERVATION, ItemKind.EPISODE, ItemKind.SEMANTIC)

_SPARE: Final = 8  # so many times more are searched than linked: an arm's limit in time is wider than ours
_OWN_MEANING: Final = Weights(surroundings=0.0)  # equation 5 compares items without their surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDraft:
    """An item that is to be stored. Its ``tokens`` are counted when it is indexed.

    ``embedded`` is the text by whose meaning and words it is found (:func:`text_to_embed`). ``names`` are the surface
    forms in it, of which the first :data:`recollect.retain.extract.MOST_NAMES` count.
    """

    item: Item
    embedded: str
    names: tuple[tuple[str, EntityKind], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Neighbours:
    """The items in the bank near a draft: items by time, and ids with cosines by meaning, the most similar first."""

    in_time: tuple[Item, ...]
    in_meaning: tuple[tuple[str, float], ...]


def find_moment(item: Item) -> datetime:
    """Return the moment of an item: the middle of the time when it happened, or else the time when it was said."""
    return item.mentioned if item.occurred is None else item.occurred.midpoint


async def index_items(
    drafts: Sequence[ItemDraft],
    *,
    embedder: Embedder,
    reader: StoreReader,
    names: DirectoryCache,
    links: LinkSettings,
    resolve: ResolveSettings,
) -> Changeset:
    """Embed drafts, decide which entities their names mean (equation 2), and link them (equations 3, 4 and 5).

    If the bank has a draft's id, the draft replaces the older item, and is linked as if that item were not there.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    if not drafts:
        return Changeset()
    indexed = await _embed_drafts(drafts, embedder)
    directory = await names.directory_at(await reader.look_up([], []), reader)
    resolution = resolve_names([name for draft in drafts for name in _list_names(draft)], directory, resolve)
    return Changeset(
        author=names.propose_change(resolution),
        items=tuple(indexed),
        links=await _make_links(indexed, resolution, reader, links),
        entities=resolution.entities,
        mentions=resolution.mentions,
        merges=resolution.merges,
    )


async def _embed_drafts(drafts: Sequence[ItemDraft], embedder: Embedder) -> list[IndexedItem]:
    vectors = await embedder.embed([draft.embedded for draft in drafts])
    tokens = await run_in_thread(count_all, [draft.item.text for draft in drafts])
    return [
        IndexedItem(item=replace(draft.item, tokens=cost), vector=vector, terms=extract_terms(draft.embedded))
        for draft, cost, vector in zip(drafts, tokens, vectors, strict=True)
    ]


def _list_names(draft: ItemDraft) -> list[NameOccurrence]:
    kinds = dict(draft.names[:MOST_NAMES])
    return [
        NameOccurrence(
            item=draft.item.id,
            surface=surface,
            kind=kind,
            at=draft.item.mentioned,
            other_names=tuple(other for other in kinds if other != surface),
        )
        for surface, kind in kinds.items()
    ]


async def _make_links(
    indexed: Sequence[IndexedItem], resolution: Resolution, reader: StoreReader, settings: LinkSettings
) -> tuple[Link, ...]:
    # Older versions of the batch's items must not take the place of other items.
    own = frozenset(entry.item.id for entry in indexed)
    near = [await _find_neighbours(entry, own, reader, settings) for entry in indexed]
    return (
        *_make_temporal_links([entry.item for entry in indexed], [one.in_time for one in near], settings),
        *make_semantic_links(indexed, [one.in_meaning for one in near], settings),
        *make_entity_links(resolution.mentions, await _load_recent(resolution, own, reader, settings), settings),
    )


async def _find_neighbours(
    entry: IndexedItem, own: frozenset[str], reader: StoreReader, settings: LinkSettings
) -> _Neighbours:
    middle, reach = find_moment(entry.item), settings.temporal_sigma * math.log(100)
    during = Interval(start=middle - reach, end=middle + reach, precision=Precision.RANGE)
    probe = SearchProbe(topic="", vector=entry.vector, terms=np.empty(0, dtype=np.uint32), during=during)
    search = await reader.search(probe, Scope(kinds=INDEXED_KINDS), _OWN_MEANING)
    timely = await search.temporal(_SPARE * settings.temporal + len(own))
    alike = await search.semantic(settings.semantic + len(own))
    loaded = await search.load(np.union1d(timely.refs, alike.refs))
    others = {ref: item for ref, item in loaded if item.id not in own}
    return _Neighbours(
        in_time=tuple(item for item, _ in _pair_scores(timely, others)),
        in_meaning=tuple((item.id, score) for item, score in _pair_scores(alike, others)),
    )


def _pair_scores(hits: Hits, items: dict[int, Item]) -> list[tuple[Item, float]]:
    pairs = zip(hits.refs.tolist(), hits.scores.tolist(), strict=True)
    return [(items[ref], score) for ref, score in pairs if ref in items]


def _make_temporal_links(items: Sequence[Item], timely: Sequence[Sequence[Item]], settings: LinkSettings) -> list[Link]:
    """Link each item to the items nearest in time (equation 4), in the bank and before it in the batch."""
    links: list[Link] = []
    for at, item in enumerate(items):
        others = [*timely[at], *items[:at]]
        moment = find_moment(item)
        others.sort(key=lambda other: abs(find_moment(other) - moment), reverse=True)
        # Links go to the last items before the end of the line. The sort puts the nearest there.
        links.extend(make_temporal_links([_place_in_time(item)], [_place_in_time(other) for other in others], settings))
    return links


def _place_in_time(item: Item) -> Item:
    return replace(item, mentioned=find_moment(item))


async def _load_recent(
    resolution: Resolution, own: frozenset[str], reader: StoreReader, settings: LinkSettings
) -> dict[str, list[str]]:
    """Return, for each entity, the items that mention it, the most recent first."""
    recent: dict[str, list[str]] = {}
    for entity in sorted({mention.entity for mention in resolution.mentions}):
        found = await reader.items_of(INDEXED_KINDS, entity=entity, limit=settings.entity + len(own))
        recent[entity] = [item.id for item in found if item.id not in own]
    return recent
