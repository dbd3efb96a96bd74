"""Banks of gists and facts for the tools, put together by hand; no model has read anything."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from recollect.domain.changes import Changeset, Session
from recollect.domain.entities import Entity, EntityKind, Mention
from recollect.domain.items import IndexedItem, Item, ItemKind, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.queries import Query, Scope
from recollect.domain.triples import Triple
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.conclusion import RecollectionReply
from recollect.methods.remem.planning import PlannedCall
from recollect.methods.remem.settings import ToolSettings
from recollect.methods.remem.tools import Toolkit
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.entity_directory import DirectoryCache
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel
from recollect.text.terms import extract_terms
from recollect.text.time_expressions.iso import parse_iso_date
from recollect.text.tokens import count_tokens

AT = datetime(2023, 5, 8, 14, 10, tzinfo=UTC)
NOW = datetime(2024, 6, 5, 12, tzinfo=UTC)
EMBEDDER = HashEmbedder()


def said(number, *, session="s1", speaker="Ada", at=None, text=None):
    return StoredMessage(
        id=f"m{number}",
        session=session,
        position=number,
        speaker=speaker,
        role=Role.USER,
        text=text or f"message {number}",
        captions=(),
        at=at or AT + timedelta(minutes=number),
        recorded=NOW - timedelta(days=30),
    )


def item(id_, kind, text, **more):
    number = int(more.pop("message", 1))
    base = Item(
        id=id_,
        kind=kind,
        text=text,
        session="s1",
        speaker="Ada",
        sources=(f"m{number}",),
        mentioned=AT + timedelta(minutes=number),
        recorded=NOW - timedelta(days=30),
        order=int(id_[1:]),
        tokens=count_tokens(text),
    )
    return replace(base, **more)


def date(text):
    return None if text is None else parse_iso_date(text, UTC)


def gist(number, text, *, when=None, **more):
    told = (Occurrence(words=text, interval=date(when)),) if when else ()
    return item(f"g{number}", ItemKind.GIST, text, occurrences=told, **more)


def fact(number, subject, predicate, object_, start=None, end=None, **more):
    """A fact; one that has an end before it has a beginning is given ``start=None``."""
    triple = Triple(subject=subject, predicate=predicate, object=object_, start=date(start), end=date(end))
    return item(f"f{number}", ItemKind.TRIPLE, f"{subject} {predicate} {object_}", triple=triple, **more)


def context(gist_id, fact_id, weight=1.0):
    return Link(source=gist_id, target=fact_id, kind=LinkKind.CONTEXT, weight=weight)


def synonym(one, other, weight=0.9):
    return Link(source=one, target=other, kind=LinkKind.SYNONYMY, weight=weight)


def named(id_, name, *, surfaces=(), item):
    """An entity by all its names, each said in the item."""
    entity = Entity(id=id_, name=name, kind=EntityKind.PERSON, first_seen=AT, last_seen=AT)
    return entity, tuple(Mention(entity=id_, item=item, surface=one) for one in (name, *surfaces))


async def changes(items, links=(), people=()):
    vectors = await EMBEDDER.embed([one.text for one in items])
    sources = {source for one in items for source in one.sources}
    messages = sorted((said(int(source[1:])) for source in sources), key=lambda one: one.position)
    return Changeset(
        sessions=(Session(id="s1", started=AT),),
        messages=tuple(messages),
        items=tuple(
            IndexedItem(item=one, vector=vector, terms=np.asarray(extract_terms(one.text), dtype=np.uint32))
            for one, vector in zip(items, vectors, strict=True)
        ),
        links=tuple(links),
        entities=tuple(entity for entity, _ in people),
        mentions=tuple(mention for _, mentions in people for mention in mentions),
    )


@asynccontextmanager
async def bank(*items, links=(), people=(), name="memory"):
    """A store in memory that holds these."""
    folder = SqliteFolder(":memory:")
    store = await folder.open(name, embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    if items:
        await store.commit(await changes(items, links, people))
    yield store
    await folder.close()


def query(text="Who sang?", **more):
    return replace(Query(text=text, now=NOW), **more)


EVERYTHING = Scope()


def tools(store, *, scope=EVERYTHING, retrieved=10, explored=50, **more):
    settings = ToolSettings(retrieved=retrieved, explored=explored)
    return Toolkit(store, EMBEDDER, query(scope=scope, **more), settings)


def ids(numbered):
    return [one.item.id for one in numbered]


# A small choir: who sang in what, when, and the gists that tell of it.

GISTS = (
    gist(1, "[8 May 2023, 2:11 pm] Ada joined the harbour choir in 2019.", when="2019"),
    gist(2, "[8 May 2023, 2:12 pm] Ada became a member of the harbour choir.", message=2),
    gist(3, "[8 May 2023, 2:13 pm] Ben left the mill choir in March 2021.", when="2021-03", message=3),
)
FACTS = (
    fact(1, "Ada", "sang in", "the harbour choir", "2019", "2022"),
    fact(2, "Ben", "sang in", "the mill choir", "2015-04", "2021-03", message=3),
    fact(3, "Ada", "sang in", "the opera", "2022-06-01", message=2),
    fact(4, "Cleo", "sang in", "The  Harbour Choir", "2020", "2020", message=4),
    fact(5, "Ada", "likes", "tea", message=5),
)
LINKS = (
    context("g1", "f1"),
    context("g1", "f3", 0.5),
    context("g2", "f1", 0.5),
    context("g3", "f2"),
    synonym("g1", "g2", 0.93),
)


def choir(**more):
    return bank(*GISTS, *FACTS, links=LINKS, **more)


# What a model says.


def step(tool, thought="Let me see.", **arguments):
    return PlannedCall(thought=thought, tool=tool, **arguments)


def look(words, **arguments):
    return step("semantic_retrieve", query=words, **arguments)


def over(answer="Ada"):
    return step("output_answer", answer=answer)


def concludes(answer, *citations, abstained=False):
    return RecollectionReply(reasoning="So it says.", answer=answer, abstained=abstained, citations=citations)


def parts(*replies):
    """Parts whose model gives these replies, or is a function."""
    model = FunctionModel(replies[0]) if len(replies) == 1 and callable(replies[0]) else ScriptedModel(replies)
    return Dependencies(
        embedder=EMBEDDER, retriever=TemprRetriever(EMBEDDER), model=model, names=DirectoryCache(), clock=lambda: NOW
    )
