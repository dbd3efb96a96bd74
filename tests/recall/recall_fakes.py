"""A search whose every answer is written down: for the arms and the pipeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Query
from recollect.domain.signals import SIGNAL_NAMES, Signals
from recollect.recall.pipeline import TemprRetriever
from recollect.recall.settings import RecallSettings
from recollect.store.search import LINK_KINDS, Edges, Hits
from recollect.testing.models import HashEmbedder

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
ASKED = "What about the red bicycle last month?"


def item(ref, *, tokens=10, text=""):
    return Item(
        id=f"turn:{ref}",
        kind=ItemKind.TURN,
        text=text or f"words {ref}",
        session="s",
        speaker="Ada",
        sources=(f"m{ref}",),
        mentioned=NOW - timedelta(days=1),
        recorded=NOW,
        order=ref,
        tokens=tokens,
    )


class FakeSearch:
    """Implements :class:`recollect.store.protocol.Search`: rankings as ``[(ref, score)]``, links as tuples."""

    def __init__(self, *, semantic=(), lexical=(), temporal=(), edges=(), inside=(), gone=(), items=None, **columns):
        self.rankings = {"semantic": semantic, "lexical": lexical, "temporal": temporal}
        self.links, self.inside, self.gone, self.columns = edges, set(inside), set(gone), columns
        self.items = items or {}
        self.calls = []

    async def semantic(self, k):
        return self._hits("semantic", k)

    async def lexical(self, k):
        return self._hits("lexical", k)

    async def temporal(self, k):
        return self._hits("temporal", k)

    async def edges(self, refs, limit):
        self.calls.append(("edges", refs.tolist(), limit))
        walked = [link for link in self.links if link[0] in refs.tolist()]
        return Edges(
            origins=np.array([link[0] for link in walked], dtype=np.int64),
            targets=np.array([link[1] for link in walked], dtype=np.int64),
            kinds=np.array([LINK_KINDS.index(link[3]) for link in walked], dtype=np.int8),
            weights=np.array([link[2] for link in walked], dtype=np.float32),
        )

    async def within_time(self, refs):
        return np.array([ref in self.inside for ref in refs.tolist()], dtype=np.bool_)

    async def signals(self, refs, graph):
        self.calls.append(("signals", refs.tolist(), graph.tolist()))
        table = {
            name: np.array([self.columns.get(name, {}).get(ref, 0.0) for ref in refs.tolist()], dtype=np.float32)
            for name in SIGNAL_NAMES
        }
        return Signals(**{**table, "graph": graph})

    async def load(self, refs):
        return [(ref, self.items.get(ref) or item(ref)) for ref in refs.tolist() if ref not in self.gone]

    def _hits(self, arm, k):
        self.calls.append((arm, k))
        refs, scores = zip(*self.rankings[arm][:k], strict=True) if self.rankings[arm] else ((), ())
        return Hits(refs=np.array(refs, dtype=np.int64), scores=np.array(scores, dtype=np.float32))


class FakeReader:
    """As much of a bank as recall reads: its speakers, and one search."""

    losses = ()

    def __init__(self, search, speakers=()):
        self._search, self._speakers = search, speakers
        self.opened = []

    async def speakers(self):
        return self._speakers

    async def search(self, probe, scope, weights, tiers=()):
        self.opened.append((probe, scope, weights))
        return self._search


async def recall(search, text=ASKED, *, settings=None, reranker=None, reader=None, **more):
    retriever = TemprRetriever(HashEmbedder(), reranker=reranker, settings=settings or RecallSettings())
    return await retriever.retrieve(Query(text=text, now=NOW, **more), reader or FakeReader(search))


def numbers(recalled):
    """Which items came back, by number."""
    return [int(evidence.id.removeprefix("turn:")) for evidence in recalled.evidence]


def reports(recalled):
    return {report.arm: report for report in recalled.receipt.arms}
