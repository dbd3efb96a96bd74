"""Index conversations (REMem, Algorithm 1): decide when to read a session, and store its gists and facts as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recollect._threads import run_in_thread
from recollect.answering.reading import (
    find_outdated,
    gather_results,
    has_all_messages,
    make_session_jobs,
    plan_chunks,
    requeue_failed,
    split_results,
)
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import NameInUse
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.messages import StoredMessage
from recollect.domain.time import add_seconds
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.extraction_replies import MOST_FACTS, MOST_GISTS, ExtractedGists, ExtractedTriples
from recollect.methods.remem.facts import build_fact_prompt, check_facts, make_triple_id, make_triples
from recollect.methods.remem.gists import (
    build_gist_prompt,
    check_gists,
    find_name_occurrences,
    make_gist_id,
    make_gists,
)
from recollect.methods.remem.graph import make_context_links, make_synonymy_links
from recollect.methods.remem.name_sources import add_name_sources
from recollect.methods.remem.settings import IndexSettings
from recollect.ports import Derive
from recollect.retain.chunks import Chunk
from recollect.retain.embed import text_to_embed
from recollect.retain.resolve import resolve_names
from recollect.retain.triples import found_in as found_in_triples
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_all

KIND: Final = "remem.index"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChunk:
    """A chunk that was read, with its gists and its triples in their order."""

    chunk: Chunk
    gists: tuple[Item, ...]
    triples: tuple[Item, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self.gists, *self.triples)

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Return the ids that an earlier reading of the chunk may have used and this reading has not."""
        gists = range(len(self.gists), MOST_GISTS)
        triples = range(len(self.triples), MOST_FACTS)
        return (*(make_gist_id(self.chunk, n) for n in gists), *(make_triple_id(self.chunk, n) for n in triples))


class Indexer:
    """Reads the new messages of a session for gists and facts. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies, settings: IndexSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or IndexSettings()

    @property
    def kind(self) -> str:
        return KIND

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return a job for each session with new messages.

        The job is due after the session has been still for a while.
        """
        return make_session_jobs(KIND, changes.messages, add_seconds(now, self._settings.settle_s))

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Read the job's messages, with two model calls for each chunk.

        The returned function derives the changes from all chunks that could be read.

        Raises:
            ModelError: no chunk could be read.
        """
        chunks, rest = await plan_chunks(await _load_messages(job, reader), reader, self._settings)
        names = await self._load_names(reader) if chunks else []
        read, failed = split_results(
            chunks, await gather_results(self._read_chunk(chunk, names, now) for chunk in chunks)
        )
        episodes = [episode for _, episode in read]
        return requeue_failed(lambda reader: self._derive(episodes, names, reader, now), job, rest, failed, now)

    async def _load_names(self, reader: StoreReader) -> list[NameInUse]:
        """Return names in use, so that different sessions call the same people and things by the same names.

        Only names in turns count. Names in derived items depend on which session happened to be read first.
        """
        count = self._settings.known_names
        return await reader.names_in_use([ItemKind.TURN], count) if count > 0 else []

    async def _read_chunk(self, chunk: Chunk, names: Sequence[NameInUse], now: datetime) -> IndexedChunk:
        """Extract the chunk's gists, and then its facts with these gists in the prompt (Algorithm 1, lines 3 and 6)."""
        model, shown = self._parts.model, [one.name for one in names]
        told = await model.generate(
            build_gist_prompt(chunk, shown), ExtractedGists, check=lambda reply: check_gists(reply, chunk)
        )
        gists = make_gists(told.value, chunk, now)
        held = await model.generate(
            build_fact_prompt(chunk, gists, shown), ExtractedTriples, check=lambda reply: check_facts(reply, chunk)
        )
        return IndexedChunk(chunk=chunk, gists=tuple(gists), triples=tuple(make_triples(held.value, chunk, now)))

    async def _derive(
        self, episodes: Sequence[IndexedChunk], names: Sequence[NameInUse], reader: StoreReader, now: datetime
    ) -> Changeset | None:
        """Return the nodes and edges of all that was read.

        Return ``None`` if a message or a name that was shown to the model is gone.
        """
        if not (
            await has_all_messages([one.chunk for one in episodes], reader) and await _are_names_in_use(names, reader)
        ):
            return None
        new = [item for one in episodes for item in add_name_sources(one.items, one.chunk, names)]
        before = {item.id: item for item in await reader.items([item.id for item in new])}
        items = await self._embed_items([_keep_recorded(item, before) for item in new])
        old = await _find_outdated(episodes, reader)
        gists = [entry for entry in items if entry.item.kind is ItemKind.GIST]
        triples = [entry.item for entry in items if entry.item.kind is ItemKind.TRIPLE]
        synonymy = await make_synonymy_links(gists, reader, self._settings, without=frozenset((*before, *old)))
        context = (link for one in episodes for link in make_context_links(one.gists, one.triples))
        directory = await self._parts.names.directory_at(await reader.look_up([], []), reader)
        people = frozenset(await reader.speakers())
        named = find_name_occurrences([entry.item for entry in gists], people, directory)
        resolution = resolve_names([*named, *found_in_triples(triples, people)], directory)
        return Changeset(
            author=self._parts.names.propose_change(resolution),
            items=tuple(items),
            links=(*context, *synonymy),
            entities=resolution.entities,
            mentions=resolution.mentions,
            merges=resolution.merges,
            supersedes=tuple(Supersession(item=id_, at=now) for id_ in old),
        )

    async def _embed_items(self, items: Sequence[Item]) -> list[IndexedItem]:
        if not items:
            return []
        texts = [text_to_embed(item) for item in items]
        vectors = await self._parts.embedder.embed(texts)
        tokens = await run_in_thread(count_all, [item.text for item in items])
        return [
            IndexedItem(item=replace(item, tokens=cost), vector=vector, terms=extract_terms(text))
            for item, text, vector, cost in zip(items, texts, vectors, tokens, strict=True)
        ]


async def _load_messages(job: Job, reader: StoreReader) -> list[StoredMessage]:
    """Return the job's messages in order."""
    found = [message for message in await reader.messages(job.messages) if message.session == job.payload]
    return sorted(found, key=lambda one: one.position)


async def _are_names_in_use(names: Sequence[NameInUse], reader: StoreReader) -> bool:
    """Return true if the bank still has all names that were shown, each with the same first messages."""
    return not names or frozenset(names).issubset(await reader.names_in_use([ItemKind.TURN]))


def _keep_recorded(item: Item, before: dict[str, Item]) -> Item:
    """Return the item with the recording time of the older item that it replaces, if there is one."""
    old = before.get(item.id)
    return item if old is None else replace(item, recorded=old.recorded)


async def _find_outdated(episodes: Sequence[IndexedChunk], reader: StoreReader) -> list[str]:
    """Return the ids of items that an earlier reading of these messages has made and this reading has not."""
    new = [item.id for one in episodes for item in one.items]
    leftovers = [id_ for one in episodes for id_ in one.leftovers]
    kinds = (ItemKind.GIST, ItemKind.TRIPLE)
    return await find_outdated([one.chunk for one in episodes], new, leftovers, kinds, reader)
