"""Banks that are indexed by a model double: what these tests share."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.domain.links import LinkKind
from recollect.methods.remem.extraction_replies import ExtractedGist, ExtractedGists, ExtractedTriple, ExtractedTriples
from recollect.methods.remem.indexer import Indexer
from recollect.methods.remem.settings import IndexSettings
from recollect.recipes import Recipe
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, 14, 28, tzinfo=UTC)
NOW = AT + timedelta(days=1)
_SAID = re.compile(r"^\[(\d+)\] \(\w+\) (.*?), \w+, \d+ \w+ \d{4}, \d\d:\d\d: (.*)$", re.MULTILINE)


def reading_model():
    return FunctionModel(reply)


def told_in(text):
    """The new messages of a prompt: numbers, speakers, words."""
    return [(int(n), who, words) for n, who, words in _SAID.findall(text.partition("<messages>")[2])]


def reply(prompt, answer_type):
    """A gist and a fact a message; "And ..." goes with the one before, with "!" by itself as well."""
    gists = list[ExtractedGist]()
    for number, _, words in told_in(prompt.text):
        before = gists[-1] if gists else None
        if before is not None and words.startswith("And "):
            gists[-1] = gist(f"{before.text} {words}", *before.messages, number)
        if before is None or not words.startswith("And ") or "!" in words:
            gists.append(gist(words, number))
    if answer_type is ExtractedGists:
        return ExtractedGists(gists=tuple(gists))
    assert answer_type is ExtractedTriples
    facts = [fact(one.text.split()[0], "told", one.text.partition(" ")[2], *one.messages) for one in gists]
    return ExtractedTriples(facts=tuple(facts))


def gist(text, *messages, **times):
    return ExtractedGist(text=text, messages=messages or (1,), **times)


def fact(subject, predicate, object_, *messages, **times):
    return ExtractedTriple(subject=subject, predicate=predicate, object=object_, messages=messages or (1,), **times)


def recipe(**settings):
    indexing = partial(Indexer, settings=IndexSettings(**settings))
    return Recipe(name="indexed", consolidate=(indexing,))


def opened(folder=":memory:", *, lanes=1, **how):
    how = {"recipe": recipe(), "model": reading_model(), "embedder": HashEmbedder(), **how}
    return Memory.open(folder, worker=WorkerSettings(concurrency=lanes, automatic=False), clock=lambda: NOW, **how)


def said(*texts, speaker="Ada", first=0, at=AT):
    """Messages m0, m1 and so on, a minute apart."""
    return [
        Message(id=f"m{n}", text=text, speaker=speaker, at=at + timedelta(minutes=n))
        for n, text in enumerate(texts, start=first)
    ]


async def held(bank, kind):
    """What holds, as texts (of gists without their time), with the messages it came from."""
    items = await bank._store.items_of([kind])
    return {item.text.partition("] ")[2] or item.text: item.sources for item in items}


async def edges(bank, kind):
    """The links of a kind, with texts for their ends, and weights."""
    parts = [part async for part in bank._store.dump()]
    texts = {entry.item.id: entry.item.text.partition("] ")[2] or entry.item.text for p in parts for entry in p.items}
    return {(texts[k.source], texts[k.target]): k.weight for p in parts for k in p.links if k.kind is kind}


async def graph(bank):
    """All that indexing made, but for when it was stored."""
    items = await bank._store.items_of([ItemKind.GIST, ItemKind.TRIPLE], superseded=True)
    return (
        sorted(repr(replace(item, recorded=NOW)) for item in items),
        await edges(bank, LinkKind.CONTEXT),
        await edges(bank, LinkKind.SYNONYMY),
    )


class Pointing:
    """An embedder that gives texts the vectors they are told to have, by a word in them; else none."""

    name, dimension = "pointing", 8

    def __init__(self, vectors):
        self._vectors = {word: np.array([*vector, *[0.0] * (8 - len(vector))]) for word, vector in vectors.items()}

    async def embed(self, texts, *, purpose="document"):
        rows = [self._row(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)

    def _row(self, text):
        return next((vector for word, vector in self._vectors.items() if word in text), np.zeros(self.dimension))
