"""What the tests of adapters share: a small memory in words, an embedder that downloads nothing, replies of a model."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect.domain.queries import Query, Scope
from recollect.integrations.answering import NO_BANK
from recollect.methods.memr3.answer import ConclusionReply
from recollect.methods.memr3.trace import Finding, Gap
from recollect.methods.memr3.tracker import GenerationReply
from recollect.models.embedders.wordllama import WordLlamaEmbedder

AT = datetime(2024, 5, 8, 14, 10, tzinfo=UTC)
NOW = datetime(2024, 7, 20, 12, tzinfo=UTC)
EMBEDDER = WordLlamaEmbedder(64)

TEXTS = (
    "I adopted Toby, a grey cat, from the shelter.",
    "The cat sleeps on my keyboard all day.",
    "Bram bakes bread on Sundays.",
    "We walked along the river in the rain.",
    "My sister moves to Porto in September.",
    "The cat needs a new collar.",
    "Rye bread takes a whole night to rise.",
)
"""What each memory holds, in this order, a minute apart."""


def said(number):
    return AT + timedelta(minutes=number)


def query(text="Which cat sleeps?", **more):
    scope = Scope(exclude=frozenset(more.pop("exclude", ())))
    return replace(Query(text=text, now=NOW, scope=scope), **more)


async def found(retriever, text="Which cat sleeps?", **more):
    return await retriever.retrieve(query(text, **more), NO_BANK)


def texts_of(recall):
    return [one.text for one in recall.evidence]


async def all_of(retriever, k, text="Which cat sleeps?"):
    """Everything that a retriever brings, k at a time, with what was seen masked; each time's texts."""
    seen, rounds = set(), []
    while True:
        recall = await found(retriever, text, limit=k, max_tokens=None, exclude=seen)
        if not recall.evidence:
            return rounds
        assert seen.isdisjoint(one.id for one in recall.evidence)
        seen |= {one.id for one in recall.evidence}
        rounds.append(texts_of(recall))


def embed(texts):
    """Vectors, for code that cannot wait for a coroutine."""
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, EMBEDDER.embed(texts)).result().tolist()


async def aembed(texts):
    return (await EMBEDDER.embed(texts)).tolist()


def known(fact, *snippets):
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
