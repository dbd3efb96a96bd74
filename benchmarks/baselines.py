"""Plain retrieval over messages: the baselines for a memory.

Each baseline has messages in memory, and ranks all of them for a question. The baselines do what a vector store or a
text index does by default: one document for each message, without neighbours, times or links.
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
    """Scores documents for a question. Documents are numbered in the order in which they were added."""

    async def add(self, texts: Sequence[str]) -> None: ...

    async def scores(self, question: str) -> Floats:
        """Return the score of each document: float32 of shape ``(documents,)``. It is 0 or less for a document that
        does not fit.
        """
        ...


class Cosine:
    """Scores by the cosine between question and document, by exact search (as Mem0, Chroma and LangGraph's store
    do).
    """

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
    """Scores by Okapi BM25 (Robertson and Zaragoza, 2009) over English stems without stop words. k1 is 1.2 and b is
    0.75.
    """

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
    """Scores by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) of the first 200 of each ranking. k is
    60.
    """

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
    """Return the documents with a score above 0, the best first. Documents with the same score stay in their order."""
    order = np.argsort(-scores, kind="stable")
    return order[scores[order] > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A message that was found."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Messages that were found, the best first."""

    evidence: tuple[Piece, ...]


class MessageBank:
    """A bank with messages as documents of a ranker: "speaker: text", with captions of pictures. Nothing is stored on
    disk.
    """

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
    """Return a message as a plain store would store it.

    The speaker's name is included because questions name people. On LoCoMo every baseline finds more with it than
    without.
    """
    return " ".join([f"{message.speaker}: {message.text}", *message.captions])


def baselines(embedder: Embedder) -> dict[str, OpenBank]:
    """Return all baselines by name. They use recollect's default embedder."""

    async def cosine(conversation: str) -> EvalBank:
        return MessageBank(Cosine(embedder))

    async def bm25(conversation: str) -> EvalBank:
        return MessageBank(Bm25())

    async def fused(conversation: str) -> EvalBank:
        return MessageBank(Fused(Cosine(embedder), Bm25()))

    return {"cosine": cosine, "BM25": bm25, "RRF of cosine and BM25": fused}
