"""Indexing (REMem, Algorithm 1): when a conversation is read for gists and facts, and what is made of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from recollect.answering.reading import (
    all_there,
    chunks_of,
    outdated,
    read_every,
    requeue_failed,
    session_jobs,
    split_results,
)
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import NameInUse
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.messages import StoredMessage
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.facts import check_facts, fact_prompt, triple_id, triples_of
from recollect.methods.remem.gists import check_gists, found_in, gist_id, gist_prompt, gists_of
from recollect.methods.remem.graph import context_links, synonymy_links
from recollect.methods.remem.named import with_names
from recollect.methods.remem.replies import MOST_FACTS, MOST_GISTS, ExtractedFacts, ExtractedGists
from recollect.methods.remem.settings import IndexSettings
from recollect.ports import Derive
from recollect.retain.chunks import Chunk
from recollect.retain.embed import embedded_text
from recollect.retain.resolve import resolve
from recollect.retain.triples import found_in as found_in_triples
from recollect.store.protocol import StoreReader
from recollect.text.terms import terms
from recollect.text.tokens import count_all

KIND: Final = "remem.index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A chunk that was read: its gists and its triples, in their order."""

    chunk: Chunk
    gists: tuple[Item, ...]
    triples: tuple[Item, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self.gists, *self.triples)

    @property
    def leftovers(self) -> tuple[str, ...]:
        """The ids that an earlier reading of the chunk may have given, and this one has not."""
        gists = range(len(self.gists), MOST_GISTS)
        triples = range(len(self.triples), MOST_FACTS)
        return (*(gist_id(self.chunk, n) for n in gists), *(triple_id(self.chunk, n) for n in triples))


class Indexer:
    """Reads the new messages of a session for gists and facts. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies, settings: IndexSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or IndexSettings()

    @property
    def kind(self) -> str:
        return KIND

    def causes(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """A job for each session with new messages, due when it has been still for a while."""
        return session_jobs(KIND, changes.messages, now + timedelta(seconds=self._settings.settle_s))

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Read the job's messages, two calls a chunk; what is derived stores what all chunks gave that could be read.

        Raises:
            ModelError: no chunk could be read.
        """
        chunks, rest = await chunks_of(await _messages(job, reader), reader, self._settings)
        names = await self._names(reader) if chunks else []
        read, failed = split_results(chunks, await read_every(self._read(chunk, names, now) for chunk in chunks))
        episodes = [episode for _, episode in read]
        return requeue_failed(lambda reader: self._derive(episodes, names, reader, now), job, rest, failed, now)

    async def _names(self, reader: StoreReader) -> list[NameInUse]:
        """Names in use, so that what one session tells of somebody meets what another does.

        Those of turns alone: what was made of other sessions by now depends on which of them was read first.
        """
        count = self._settings.known_names
        return await reader.names_in_use([ItemKind.TURN], count) if count > 0 else []

    async def _read(self, chunk: Chunk, names: Sequence[NameInUse], now: datetime) -> Episode:
        """The chunk's gists, and its facts in the light of them (Algorithm 1, lines 3 and 6)."""
        model, shown = self._parts.model, [one.name for one in names]
        told = await model.generate(
            gist_prompt(chunk, shown), ExtractedGists, check=lambda reply: check_gists(reply, chunk)
        )
        gists = gists_of(told.value, chunk, now)
        held = await model.generate(
            fact_prompt(chunk, gists, shown), ExtractedFacts, check=lambda reply: check_facts(reply, chunk)
        )
        return Episode(chunk=chunk, gists=tuple(gists), triples=tuple(triples_of(held.value, chunk, now)))

    async def _derive(
        self, episodes: Sequence[Episode], names: Sequence[NameInUse], reader: StoreReader, now: datetime
    ) -> Changeset | None:
        """What was read as nodes and edges; ``None`` when a message or a name that was shown is gone."""
        if not (await all_there([one.chunk for one in episodes], reader) and await _in_use(names, reader)):
            return None
        new = [item for one in episodes for item in with_names(one.items, one.chunk, names)]
        before = {item.id: item for item in await reader.items([item.id for item in new])}
        items = await self._indexed([_as_known(item, before) for item in new])
        old = await _outdated(episodes, reader)
        gists = [entry for entry in items if entry.item.kind is ItemKind.GIST]
        triples = [entry.item for entry in items if entry.item.kind is ItemKind.TRIPLE]
        synonymy = await synonymy_links(gists, reader, self._settings, without=frozenset((*before, *old)))
        context = (link for one in episodes for link in context_links(one.gists, one.triples))
        directory = await self._parts.names.at(await reader.known([], []), reader)
        people = frozenset(await reader.speakers())
        named = found_in([entry.item for entry in gists], people, directory)
        resolution = resolve([*named, *found_in_triples(triples, people)], directory)
        return Changeset(
            author=self._parts.names.propose(resolution),
            items=tuple(items),
            links=(*context, *synonymy),
            entities=resolution.entities,
            mentions=resolution.mentions,
            merges=resolution.merges,
            supersedes=tuple(Supersession(item=id_, at=now) for id_ in old),
        )

    async def _indexed(self, items: Sequence[Item]) -> list[IndexedItem]:
        if not items:
            return []
        texts = [embedded_text(item) for item in items]
        vectors = await self._parts.embedder.embed(texts)
        tokens = await asyncio.to_thread(count_all, [item.text for item in items])
        return [
            IndexedItem(item=replace(item, tokens=cost), vector=vector, terms=terms(text))
            for item, text, vector, cost in zip(items, texts, vectors, tokens, strict=True)
        ]


async def _messages(job: Job, reader: StoreReader) -> list[StoredMessage]:
    """Return the job's messages in order."""
    found = [message for message in await reader.messages(job.messages) if message.session == job.payload]
    return sorted(found, key=lambda one: one.position)


async def _in_use(names: Sequence[NameInUse], reader: StoreReader) -> bool:
    """Whether the bank still has all names that were shown from where it had them."""
    return not names or frozenset(names).issubset(await reader.names_in_use([ItemKind.TURN]))


def _as_known(item: Item, before: dict[str, Item]) -> Item:
    """What is read again takes the older one's place, and has been known as long."""
    old = before.get(item.id)
    return item if old is None else replace(item, recorded=old.recorded)


async def _outdated(episodes: Sequence[Episode], reader: StoreReader) -> list[str]:
    """The ids of what an earlier reading of these messages has left, and this one has none of."""
    new = [item.id for one in episodes for item in one.items]
    leftovers = [id_ for one in episodes for id_ in one.leftovers]
    kinds = (ItemKind.GIST, ItemKind.TRIPLE)
    return await outdated([one.chunk for one in episodes], new, leftovers, kinds, reader)
