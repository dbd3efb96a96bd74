"""Memories for the loop: a shelf of evidence that keeps to its mask, and a bank in memory."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect import Message
from recollect.domain.items import ItemKind
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmReport, ArmStatus, Evidence, Recall, RecallReceipt
from recollect.errors import RecallFailed
from recollect.methods.dependencies import Dependencies
from recollect.methods.memr3.answer import ConclusionReply, LoopResponder
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.trace import Finding, Gap
from recollect.methods.memr3.tracker import GenerationReply
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.encode import TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel

AT = datetime(2023, 5, 8, 14, 10, tzinfo=UTC)
NOW = datetime(2024, 6, 5, 12, tzinfo=UTC)
EMBEDDER = HashEmbedder()


class Bare:
    """A reader of a bank that holds nothing: what a retriever of somebody else's brings is not ours."""

    async def items(self, ids):
        return []


def piece(id_, text, *, at=AT, speaker="Ada", tokens=10, occurred=None):
    return Evidence(
        id=id_,
        kind=ItemKind.TURN,
        text=text,
        session="s1",
        speaker=speaker,
        sources=(f"m-{id_}",),
        mentioned=at,
        occurred=occurred,
        score=1.0,
        why=(),
        tokens=tokens,
    )


def recall_of(evidence, *, candidates=None, cut=0, arm="shelf", status=ArmStatus.OK, note=""):
    report = ArmReport(arm=arm, status=status, seconds=0.0, candidates=candidates or len(evidence), note=note)
    return Recall(
        evidence=tuple(evidence),
        receipt=RecallReceipt(
            arms=(report,),
            fusion="none",
            reranker=None,
            candidates=report.candidates,
            cut_by_limit=0,
            cut_by_budget=cut,
            tokens=sum(one.tokens for one in evidence),
            during=None,
            seconds=0.0,
        ),
    )


class Shelf:
    """A retriever over a list, in its order: what is masked stays where it is; ``fails`` names the calls that fail."""

    def __init__(self, *pieces, fails=(), masks=True):
        self._pieces, self._fails, self._masks = pieces, fails, masks
        self.queries = []

    async def retrieve(self, query, reader):
        self.queries.append(query)
        if len(self.queries) in self._fails:
            raise RecallFailed("the shelf has fallen down")
        hidden = query.scope.exclude if self._masks else ()
        found = [one for one in self._pieces if one.id not in hidden]
        return recall_of(found[: query.limit], candidates=len(found))


def query(text="When did Melanie paint a sunrise?", **more):
    return replace(Query(text=text, now=NOW), **more)


def parts(retriever, *replies):
    """Parts whose model gives these replies, or is a function."""
    model = FunctionModel(replies[0]) if len(replies) == 1 and callable(replies[0]) else ScriptedModel(replies)
    return Dependencies(embedder=EMBEDDER, retriever=retriever, model=model, names=DirectoryCache(), clock=lambda: NOW)


async def reason(built, asked=None, *, reader=None, follow=lambda _: None, **settings):
    """Answer with parts; gives the answer with its trace."""
    responder = LoopResponder(built, LoopSettings(**settings))
    return await responder.answer(asked or query(), reader or Bare(), follow)


def found(fact, *snippets):
    return Finding(fact=fact, snippets=snippets)


def gap(missing, *, finer=False):
    return Gap(missing=missing, finer=finer)


def retrieve(words, *evidence, gaps=()):
    return GenerationReply(evidence=evidence, gaps=tuple(gaps), decision="retrieve", query=words)


def reflect(thought, *evidence, gaps=()):
    return GenerationReply(evidence=evidence, gaps=tuple(gaps), decision="reflect", reasoning=thought)


def settle(draft, *evidence, gaps=()):
    return GenerationReply(evidence=evidence, gaps=tuple(gaps), decision="answer", draft=draft)


def concluded(answer, *citations, abstained=False):
    return ConclusionReply(reasoning="So it says.", answer=answer, abstained=abstained, citations=citations)


@asynccontextmanager
async def bank(*texts, name="memory"):
    """A bank in memory that holds these messages, each a turn of its own, and its retriever."""
    folder = SqliteFolder(":memory:")
    store = await folder.open(name, embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    messages = [
        Message(id=f"m{at}", text=text, speaker="Ada", at=AT + timedelta(minutes=at))
        for at, text in enumerate(texts, start=1)
    ]
    if messages:
        encoder = TurnEncoder(EMBEDDER)
        await store.commit(await encoder.encode(messages, session="s1", reader=store, now=AT + timedelta(days=1)))
    yield store, TemprRetriever(EMBEDDER)
    await folder.close()
