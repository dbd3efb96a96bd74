"""A bank in memory, and what the tests of extraction and observation put into it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from recollect.domain.changes import Changeset
from recollect.domain.items import Item, ItemKind, Network, Occurrence
from recollect.domain.messages import Message
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.replies import ExtractedFact, NamedEntity
from recollect.models.embedders.vectors import normalize_rows
from recollect.ports import add_jobs
from recollect.retain.embed import text_to_embed
from recollect.retain.encode import TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.index_items import ItemDraft, index_items
from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings
from recollect.store.commit_retry import derive_changes
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder, ScriptedModel

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Directions:
    """Embeds a text as the vector that is given for its first word; any other as a direction of its own."""

    name, dimension = "directions", 16

    def __init__(self, **vectors):
        self._vectors = vectors
        self._others = {}

    async def embed(self, texts, *, purpose="document"):
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            word = text.split()[0]
            if word in self._vectors:
                row[: len(self._vectors[word])] = self._vectors[word]
            else:
                row[4 + self._others.setdefault(word, len(self._others)) % 12] = 1
        return normalize_rows(rows)


class NoRetriever:
    """Extraction and observation never recall."""

    async def retrieve(self, query, reader):
        raise AssertionError("nobody recalls here")


@asynccontextmanager
async def opened(embedder=None) -> AsyncIterator:
    """A store in memory with the embedder's vectors."""
    embedder = embedder or HashEmbedder()
    folder = SqliteFolder(":memory:")
    try:
        yield await folder.open("ada", embedder=embedder.name, dimension=embedder.dimension)
    finally:
        await folder.close()


def parts(*replies, model=None, embedder=None):
    return Dependencies(
        embedder=embedder or HashEmbedder(),
        retriever=NoRetriever(),
        model=model or ScriptedModel(list(replies)),
        names=DirectoryCache(),
        clock=lambda: NOON,
    )


async def retain(store, messages, session="s", *, embedder=None, consolidators=(), now=NOON):
    """Keep messages as a bank does, with the jobs they cause; gives what was committed."""
    encoder = TurnEncoder(embedder or HashEmbedder())
    changes = await encoder.encode(messages, session=session, reader=store, now=now)
    changes = add_jobs(changes, consolidators, now)
    await store.commit(changes)
    return changes


async def work(store, consolidator, job, now=NOON, **more):
    """Do a job and commit what comes of it."""
    derive = await consolidator.consolidate(job, store, now)
    changes = replace(await derive_changes(store, derive), **more)
    await store.commit(changes)
    return changes


def said(text, id_, *, speaker="Ada", minutes=0, **more):
    return Message(text=text, id=id_, speaker=speaker, at=NOON + timedelta(minutes=minutes), **more)


def fact(what, *messages, **more):
    return ExtractedFact(what=what, messages=messages or (1,), **{"type": "world", **more})


def person(name):
    return NamedEntity(name=name, kind="person")


def kept_fact(id_, text, *, source="m1", hours=0.0, occurred=None, kind=ItemKind.FACT, **more):
    """An item as extraction makes them."""
    at = NOON + timedelta(hours=hours)
    return Item(
        id=id_,
        kind=kind,
        text=text,
        session="s",
        speaker="Ada",
        sources=(source,),
        mentioned=at,
        recorded=at,
        occurrences=() if occurred is None else (Occurrence(words="then", interval=occurred),),
        network=Network.WORLD if kind is ItemKind.FACT else None,
        **more,
    )


async def woven(store, items, *, embedder=None, names=(), links=None) -> Changeset:
    """What weaving items in comes to; ``names`` are those of every item."""
    return await index_items(
        [ItemDraft(item=item, embedded=text_to_embed(item), names=names) for item in items],
        embedder=embedder or HashEmbedder(),
        names=DirectoryCache(),
        reader=store,
        links=links or LinkSettings(),
        resolve=ResolveSettings(),
    )


async def dumped(store):
    """Items, links and mentions of a bank, in comparable form."""
    found = [part async for part in store.dump()]
    return (
        {entry.item.id: entry.item for part in found for entry in part.items},
        {link for part in found for link in part.links},
        {mention for part in found for mention in part.mentions},
    )
