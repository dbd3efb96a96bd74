"""A real bank in memory with facts that are written down rather than extracted: for opinions, reflecting, answering."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect import Message
from recollect.domain.changes import Changeset
from recollect.domain.entities import EntityKind
from recollect.domain.items import Item, ItemKind, Network
from recollect.domain.jobs import Job
from recollect.domain.opinions import Assessment
from recollect.domain.queries import Query
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.opinions import OpinionChange, OpinionSettings, derive_opinion_changes, load_opinions
from recollect.methods.hindsight.reinforcer import KIND
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.encode import TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.index_items import ItemDraft, index_items
from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings
from recollect.store.commit_retry import derive_changes
from recollect.store.profile_setting import make_profile_setting
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import HashEmbedder, ScriptedModel

AT = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
NOW = datetime(2024, 6, 5, 12, tzinfo=UTC)
EMBEDDER = HashEmbedder()


class Iris:
    """A bank and short ways to fill it and to look into it."""

    def __init__(self, store):
        self.store, self.now = store, NOW
        self._encoder = TurnEncoder(EMBEDDER)

    def parts(self, *replies):
        """Parts whose model gives these replies; the model is ``parts.model``."""
        return Dependencies(
            embedder=EMBEDDER,
            retriever=TemprRetriever(EMBEDDER),
            model=ScriptedModel(replies),
            names=DirectoryCache(),
            clock=lambda: self.now,
        )

    async def said(self, id_, text, *, at=AT, speaker="Ada", session="s1"):
        """Retain a message, without extracting anything."""
        message = Message(id=id_, text=text, speaker=speaker, at=at)
        await self.store.commit(
            await self._encoder.encode([message], session=session, reader=self.store, now=at + timedelta(seconds=1))
        )

    async def fact(self, id_, text, *names, at=AT, network=Network.WORLD, kind=ItemKind.FACT, **more):
        """A message and the fact that was made of it: ids ``m-{id}`` and ``{id}``."""
        await self.said(f"m-{id_}", f"(what was said of {id_})", at=at)
        item = Item(
            id=id_,
            kind=kind,
            text=text,
            session="s1",
            speaker="Ada",
            sources=(f"m-{id_}",),
            mentioned=at,
            recorded=at + timedelta(seconds=1),
            network=network if kind is ItemKind.FACT else None,
            **more,
        )
        draft = ItemDraft(item=item, embedded=text, names=tuple((name, EntityKind.PERSON) for name in names))
        await self.store.commit(
            await index_items(
                [draft],
                embedder=EMBEDDER,
                reader=self.store,
                names=DirectoryCache(),
                links=LinkSettings(),
                resolve=ResolveSettings(),
            )
        )
        return item

    async def opinion(self, stem, text, confidence, evidence, *names, at=AT):
        """Form an opinion; its id is ``opinion:{stem}``."""
        await self.take(step(stem, text, confidence, Assessment.FORMED, evidence, *names), at=at)

    async def take(self, *steps, at=NOW, stored=None):
        """Take steps that are thought in the present of ``at``, and stored then or at another time."""
        changes = await self.steps(*steps, at=at, stored=stored)
        await self.store.commit(changes)
        return changes

    async def steps(self, *steps, at=NOW, stored=None):
        parts = replace(self.parts(), clock=lambda: stored or at)

        async def derive(reader):
            return await derive_opinion_changes(
                lambda held: steps, at=at, parts=parts, reader=reader, settings=OpinionSettings()
            )

        return await derive_changes(self.store, derive)

    async def profile(self, profile):
        await self.store.commit(Changeset(settings=(make_profile_setting(profile),)))

    async def opinions(self, **how):
        return await load_opinions(self.store, **how)

    async def work(self, reinforcer, fact, *, now=NOW):
        """Do a fact's job as a worker does; gives what was committed."""
        self.now = now
        derive = await reinforcer.consolidate(job_of(fact), self.store, now)
        changes = await derive_changes(self.store, derive)
        if changes.items:
            await self.store.commit(changes)
        return changes


def job_of(fact):
    return Job(id=f"{KIND}:{fact}", kind=KIND, payload=fact, messages=(f"m-{fact}",))


def step(stem, text, confidence, assessment, evidence, *names):
    return OpinionChange(
        opinion=f"opinion:{stem}",
        text=text,
        confidence=confidence,
        assessment=assessment,
        evidence=tuple(evidence),
        entities=names,
    )


def query(text, **more):
    return replace(Query(text=text, now=NOW), **more)


@asynccontextmanager
async def opened():
    folder = SqliteFolder(":memory:")
    yield Iris(await folder.open("iris", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension))
    await folder.close()
