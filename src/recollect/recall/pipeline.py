"""Recall, from a question to evidence: analyze, arms, fuse, load, rerank, trim."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.domain.items import Item
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmStatus, Recall, RecallReceipt, Why, evidence_of
from recollect.errors import RecallFailed
from recollect.models.embedder import Embedder
from recollect.models.reranker import Reranker
from recollect.models.timereader import TimeReader
from recollect.recall.analyze import probe_for, read_question
from recollect.recall.arms import Field, Found, run_arms
from recollect.recall.asked_time import time_read
from recollect.recall.fuse import reciprocal_ranks, union, weighed
from recollect.recall.rerank import reranked
from recollect.recall.settings import Arm, Fusion, RecallSettings, weights_of
from recollect.recall.trim import fitting
from recollect.store.protocol import StoreReader
from recollect.store.search import Refs, Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An item with its fused score."""

    ref: int
    item: Item
    score: float


class TemprRetriever:
    """Hindsight's recall over any kind of item (section 4.2).

    Args:
        embedder: the one the bank's vectors come from.
        reranker: optional; orders the first candidates anew.
        time_reader: optional; reads the time asked about where the rules could not.
        settings: every constant of the pipeline.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        reranker: Reranker | None = None,
        time_reader: TimeReader | None = None,
        settings: RecallSettings | None = None,
    ) -> None:
        self._embedder, self._reranker, self._time_reader = embedder, reranker, time_reader
        self._settings = settings or RecallSettings()

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Find evidence.

        Raises:
            RecallFailed: every arm that had something to do failed.
            ModelUnavailable: the embedder could not be reached.
        """
        began = time.perf_counter()
        settings = self._settings
        question = read_question(query, await reader.speakers())
        question, read = await time_read(question, query, self._time_reader, settings)
        probe = await probe_for(question, self._embedder)
        search = await reader.search(probe, query.scope, settings.weights)
        reach = settings.reaches[query.effort]
        reach = replace(reach, candidates=max(reach.candidates, query.limit))
        found = await run_arms(Field(search=search, probe=probe, reach=reach, settings=settings))
        _require_one(found)
        refs, scores = await self._fuse(found, search)
        loaded = await _load(search, refs, scores, max(query.limit, settings.rerank_top if self._reranker else 0))
        ordered, notes = await self._rerank(query.text, loaded)
        kept = ordered[: query.limit]
        tokens = [candidate.item.tokens for candidate in kept]
        room = fitting(tokens, query.max_tokens)
        reasons = _reasons(found, [candidate.ref for candidate in kept[:room]])
        return Recall(
            evidence=tuple(evidence_of(one.item, one.score, reasons[one.ref]) for one in kept[:room]),
            receipt=RecallReceipt(
                arms=tuple(arm.report for arm in found.values()),
                fusion=settings.fusion.value,
                reranker=None if self._reranker is None else self._reranker.name,
                candidates=len(refs),
                cut_by_limit=len(refs) - len(kept),
                cut_by_budget=len(kept) - room,
                tokens=sum(tokens[:room]),
                during=probe.during,
                seconds=time.perf_counter() - began,
                notes=(*read, *notes),
            ),
        )

    async def _fuse(self, found: Mapping[Arm, Found], search: Search) -> tuple[Refs, Sequence[float]]:
        """Every candidate, best first, with its score."""
        rankings = [arm.hits.refs for arm in found.values()]
        refs = union(rankings)
        if self._settings.fusion is Fusion.RRF:
            scores = reciprocal_ranks(refs, rankings, self._settings.rrf_k)
        else:
            signals = await search.signals(refs, _activations(found, refs))
            scores = weighed(signals, weights_of(self._settings.weights, _working(found)))
        order = np.argsort(-scores, kind="stable")
        return refs[order], scores[order].tolist()

    async def _rerank(
        self, question: str, candidates: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], tuple[str, ...]]:
        """The candidates in the reranker's order; in their own, with a note, where it is down."""
        if self._reranker is None or not candidates:
            return candidates, ()
        items = [candidate.item for candidate in candidates]
        try:
            async with asyncio.timeout(self._settings.rerank_deadline_s):
                order = await reranked(self._reranker, question, items, self._settings.rerank_top)
        except Exception as exc:  # whatever breaks a reranker, the fused order is still a good one
            note = f"the reranker {self._reranker.name} failed, the fused order stands: {type(exc).__name__}: {exc}"
            return candidates, (note,)
        return [candidates[at] for at in order], ()


async def _load(search: Search, refs: Refs, scores: Sequence[float], count: int) -> list[Candidate]:
    score_of = dict(zip(refs.tolist(), scores, strict=True))
    loaded = await search.load(refs[:count])
    return [Candidate(ref=ref, item=item, score=score_of[ref]) for ref, item in loaded]


def _require_one(found: Mapping[Arm, Found]) -> None:
    """An empty answer must mean that there is nothing, not that nothing worked."""
    reports = [arm.report for arm in found.values()]
    broken = [r for r in reports if r.status in (ArmStatus.FAILED, ArmStatus.TIMEOUT)]
    if broken and not any(report.status is ArmStatus.OK for report in reports):
        raise RecallFailed("no arm answered: " + "; ".join(f"{report.arm}: {report.note}" for report in broken))


def _working(found: Mapping[Arm, Found]) -> tuple[Arm, ...]:
    """The arms whose signals count: those that did not break."""
    return tuple(arm for arm, f in found.items() if f.report.status in (ArmStatus.OK, ArmStatus.IDLE))


def _activations(found: Mapping[Arm, Found], refs: Refs) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """What the graph arm brought each candidate: float32 of shape ``(len(refs),)``."""
    brought = np.zeros(len(refs), dtype=np.float32)
    if arm := found.get(Arm.GRAPH):
        order = np.argsort(refs)
        at = order[np.searchsorted(refs, arm.hits.refs, sorter=order)]
        brought[at] = arm.hits.scores
    return brought


def _reasons(found: Mapping[Arm, Found], refs: Sequence[int]) -> dict[int, tuple[Why, ...]]:
    """For each of these candidates the arms that brought it."""
    reasons: dict[int, tuple[Why, ...]] = dict.fromkeys(refs, ())
    for arm, result in found.items():
        hits = result.hits
        ranks = {ref: rank for rank, ref in enumerate(hits.refs.tolist(), start=1)}
        for ref in ranks.keys() & reasons.keys():
            why = Why(arm=arm.value, rank=ranks[ref], score=float(hits.scores[ranks[ref] - 1]))
            reasons[ref] = (*reasons[ref], why)
    return reasons
