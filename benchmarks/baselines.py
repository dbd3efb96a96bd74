"""Plain retrieval over messages: what a memory has to beat.

Each baseline keeps messages in memory and ranks them all for a question. They are what a vector store or a text index
gives without further thought: one document a message, no neighbours, no times, no links.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.domain.messages import Message
from recollect.models.embedder import Embedder
from recollect.text.terms import extract_terms
from recollect_lab.evals.bank import EvalBank, OpenBank

Floats = NDArray[np.float32]

K1, B = 1.2, 0.75
RRF_K = 60
FUSED_DEPTH = 200


class Ranker(Protocol):
    """Scores documents against a question; documents keep the number of the order in which they were added."""

    async def add(self, texts: Sequence[str]) -> None: ...

    async def scores(self, question: str) -> Floats:
        """How well each document fits: float32 of shape ``(documents,)``; 0 or less for one that does not fit."""
        ...


class Cosine:
    """The cosine of the question's vector with each document's, by exact search (Mem0, Chroma, LangGraph's store)."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._parts: list[Floats] = []

    async def add(self, texts: Sequence[str]) -> None:
        self._parts.append(await self._embedder.embed(texts))

    async def scores(self, question: str) -> Floats:
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        (vector,) = await self._embedder.embed([question], purpose="query")
        found: Floats = self._parts[0] @ vector
        return found


class Bm25:
    """Okapi BM25 (Robertson and Zaragoza, 2009) over English stems without stop words; k1 is 1.2 and b is 0.75."""

    def __init__(self) -> None:
        self._postings: dict[int, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []

    async def add(self, texts: Sequence[str]) -> None:
        for text in texts:
            found = extract_terms(text).tolist()
            for term, count in Counter(found).items():
                self._postings.setdefault(term, []).append((len(self._lengths), count))
            self._lengths.append(len(found))

    async def scores(self, question: str) -> Floats:
        lengths = np.array(self._lengths, dtype=np.float32)
        penalty = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        total = np.zeros(len(lengths), dtype=np.float32)
        for term in set(extract_terms(question).tolist()) & self._postings.keys():
            rows, counts = np.array(self._postings[term]).T
            rarity = math.log(1 + (len(lengths) - len(rows) + 0.5) / (len(rows) + 0.5))
            total[rows] += rarity * (K1 + 1) * counts / (counts + penalty[rows])
        return total


class Fused:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009; k is 60) of the first 200 of each ranking."""

    def __init__(self, *rankers: Ranker) -> None:
        self._rankers = rankers

    async def add(self, texts: Sequence[str]) -> None:
        for ranker in self._rankers:
            await ranker.add(texts)

    async def scores(self, question: str) -> Floats:
        rankings = [await ranker.scores(question) for ranker in self._rankers]
        total = np.zeros(len(rankings[0]), dtype=np.float32)
        for scores in rankings:
            best = ranked(scores)[:FUSED_DEPTH]
            total[best] += 1 / (RRF_K + 1 + np.arange(len(best), dtype=np.float32))
        return total


def ranked(scores: Floats) -> NDArray[np.intp]:
    """The documents with a score above 0, best first; equal ones in their own order."""
    order = np.argsort(-scores, kind="stable")
    return order[scores[order] > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A message that was found."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Messages, best first."""

    evidence: tuple[Piece, ...]


class MessageBank:
    """Messages as documents of a ranker: "speaker: text", with what pictures show. Nothing is kept on disk."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._ids: list[str] = []

    async def retain(self, messages: Sequence[Message], *, session: str) -> None:
        await self._ranker.add([document(message) for message in messages])
        self._ids.extend(message.id or "" for message in messages)

    async def recall(self, query: str, *, limit: int, max_tokens: int | None, now: datetime | None) -> Pieces:
        best = ranked(await self._ranker.scores(query))[:limit]
        return Pieces(evidence=tuple(Piece(sources=(self._ids[at],)) for at in best.tolist()))

    async def close(self) -> None: ...

    def size_bytes(self) -> int:
        return 0


def document(message: Message) -> str:
    """A message as a plain store would keep it.

    With the speaker's name, since questions name people: on LoCoMo every baseline finds more with it than without.
    """
    return " ".join([f"{message.speaker}: {message.text}", *message.captions])


def baselines(embedder: Embedder) -> dict[str, OpenBank]:
    """Every baseline by name, over recollect's own default embedder."""

    async def cosine(conversation: str) -> EvalBank:
        return MessageBank(Cosine(embedder))

    async def bm25(conversation: str) -> EvalBank:
        return MessageBank(Bm25())

    async def fused(conversation: str) -> EvalBank:
        return MessageBank(Fused(Cosine(embedder), Bm25()))

    return {"cosine": cosine, "BM25": bm25, "RRF of cosine and BM25": fused}
