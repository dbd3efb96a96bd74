"""Recall evidence for a question: analyse, run arms, fuse, load, rerank, trim."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.domain.items import Item
from recollect.domain.queries import Query, SearchProbe, Tier
from recollect.domain.recalls import ArmRank, ArmStatus, Evidence, Recall, RecallReceipt, make_evidence
from recollect.errors import RecallFailed
from recollect.models.embedder import Embedder
from recollect.models.reranker import Reranker
from recollect.models.time_reader import TimeReader
from recollect.recall.arms import NO_HITS, ArmInput, ArmResult, run_arms
from recollect.recall.fusion import fuse_ranks, unite_rankings, weigh_signals
from recollect.recall.rerank import rerank_items
from recollect.recall.settings import Arm, Fusion, RecallSettings, select_weights
from recollect.recall.time_reading import analyse_question
from recollect.recall.trim import count_fitting
from recollect.store.protocol import StoreReader
from recollect.store.search import Hits, Refs, Search


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedItem:
    """An item with its fused score."""

    ref: int
    item: Item
    score: float


class TemprRetriever:
    """Retrieves items of any kind by Hindsight's recall (section 4.2).

    Args:
        embedder: the embedder of the bank's vectors.
        reranker: orders the first candidates again. It is optional.
        time_reader: reads the time asked about if the rules could not. It is optional.
        settings: all constants of the pipeline.
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
        settings, tiers = self._settings, query.tiers or (_whole(query),)
        speakers = await reader.speakers()
        analysed = await analyse_question(query, speakers, self._embedder, self._time_reader, settings)
        kinds = [tier.kinds for tier in query.tiers]
        search = await reader.search(analysed.probe, query.scope, settings.weights, kinds)
        reach = settings.budgets[query.effort]
        reach = replace(reach, candidates=max(reach.candidates, *(tier.limit for tier in tiers)))
        found = await run_arms(ArmInput(search=search, probe=analysed.probe, budget=reach, settings=settings))
        _require_working_arm(found)
        fused = await self._fuse(found, search, analysed.probe, len(tiers))
        loaded = await self._load(search, fused, tiers)
        ordered, notes = await self._rerank(query.text, loaded)
        kept = [candidates[: tier.limit] for candidates, tier in zip(ordered, tiers, strict=True)]
        shown = [_fitting(one, tier.room(query.max_tokens)) for one, tier in zip(kept, tiers, strict=True)]
        evidence = tuple(one for tier, part in enumerate(shown) for one in _evidence(found, tier, part))
        candidates, limited = sum(len(refs) for refs, _ in fused), sum(map(len, kept))
        return Recall(
            evidence=evidence,
            receipt=RecallReceipt(
                arms=tuple(arm.report for arm in found.values()),
                fusion=settings.fusion.value,
                reranker=None if self._reranker is None else self._reranker.name,
                candidates=candidates,
                cut_by_limit=candidates - limited,
                cut_by_budget=limited - len(evidence),
                tokens=sum(one.tokens for one in evidence),
                during=analysed.probe.during,
                seconds=time.perf_counter() - began,
                notes=(*analysed.notes, *notes),
                losses=reader.losses,
            ),
        )

    async def _fuse(
        self, found: Mapping[Arm, ArmResult], search: Search, probe: SearchProbe, tiers: int
    ) -> list[tuple[Refs, Sequence[float]]]:
        """Return every candidate of each tier, best first, with its score."""
        rankings = [[hits.refs for hits in _collect_hits(found, tier)] for tier in range(tiers)]
        refs = [unite_rankings(ranked) for ranked in rankings]
        if self._settings.fusion is Fusion.RRF:
            scores = [
                fuse_ranks(some, ranked, self._settings.rrf_k) for some, ranked in zip(refs, rankings, strict=True)
            ]
        else:
            joined = np.concatenate(refs)
            signals = await search.signals(joined, _collect_activations(found, joined))
            weights = select_weights(self._settings.weights, _list_working_arms(found, probe))
            scores = np.split(weigh_signals(signals, weights), np.cumsum([len(some) for some in refs])[:-1])
        orders = [np.argsort(-own, kind="stable") for own in scores]
        return [(some[order], own[order].tolist()) for some, own, order in zip(refs, scores, orders, strict=True)]

    async def _load(
        self, search: Search, fused: Sequence[tuple[Refs, Sequence[float]]], tiers: Sequence[Tier]
    ) -> list[list[RankedItem]]:
        """Load the first candidates of each tier: as many as may be returned, or as the reranker scores."""
        top = self._settings.rerank_top if self._reranker else 0
        first = [refs[: max(tier.limit, top)] for (refs, _), tier in zip(fused, tiers, strict=True)]
        items = dict(await search.load(np.concatenate(first)))
        return [
            [
                RankedItem(ref=ref, item=items[ref], score=score)
                for ref, score in zip(refs.tolist(), scores, strict=False)
                if ref in items
            ]
            for refs, (_, scores) in zip(first, fused, strict=True)
        ]

    async def _rerank(
        self, question: str, tiers: Sequence[Sequence[RankedItem]]
    ) -> tuple[Sequence[Sequence[RankedItem]], tuple[str, ...]]:
        """Return the candidates in the reranker's order. If it fails, return them in their own order, with a note."""
        if self._reranker is None or not any(tiers):
            return tiers, ()
        items = [[candidate.item for candidate in candidates] for candidates in tiers]
        try:
            async with asyncio.timeout(self._settings.rerank_deadline_s):
                orders = await rerank_items(self._reranker, question, items, self._settings.rerank_top)
        except Exception as exc:  # without the reranker, the fused order is still a good one
            note = f"the reranker {self._reranker.name} failed, so the fused order is used: {type(exc).__name__}: {exc}"
            return tiers, (note,)
        return [[candidates[at] for at in order] for candidates, order in zip(tiers, orders, strict=True)], ()


def _whole(query: Query) -> Tier:
    """Return one tier for everything that a query asks for."""
    return Tier(kinds=query.scope.kinds, limit=query.limit, share=1.0)


def _fitting(candidates: Sequence[RankedItem], max_tokens: int | None) -> Sequence[RankedItem]:
    """Return the first candidates, as many as fit."""
    return candidates[: count_fitting([one.item.tokens for one in candidates], max_tokens)]


def _evidence(found: Mapping[Arm, ArmResult], tier: int, candidates: Sequence[RankedItem]) -> Iterator[Evidence]:
    """Return the candidates of a tier as evidence."""
    reasons = _collect_ranks(found, tier, [one.ref for one in candidates])
    return (make_evidence(one.item, one.score, reasons[one.ref]) for one in candidates)


def _collect_hits(found: Mapping[Arm, ArmResult], tier: int) -> list[Hits]:
    """Return each arm's hits in a tier. An arm without any hits has no tiers."""
    return [hits[tier] if tier < len(hits := arm.hits.by_tier()) else NO_HITS for arm in found.values()]


def _require_working_arm(found: Mapping[Arm, ArmResult]) -> None:
    """Raise RecallFailed if arms failed and no arm worked. An empty result must mean that there is no evidence."""
    reports = [arm.report for arm in found.values()]
    broken = [r for r in reports if r.status in (ArmStatus.FAILED, ArmStatus.TIMEOUT)]
    if broken and not any(report.status is ArmStatus.OK for report in reports):
        raise RecallFailed("no arm answered: " + "; ".join(f"{report.arm}: {report.note}" for report in broken))


def _list_working_arms(found: Mapping[Arm, ArmResult], probe: SearchProbe) -> tuple[Arm, ...]:
    """Return the arms whose signals count: those that did not fail. Without vectors, meaning is not a signal."""
    working = (arm for arm, f in found.items() if f.report.status in (ArmStatus.OK, ArmStatus.IDLE))
    return tuple(arm for arm in working if arm is not Arm.SEMANTIC or probe.has_vector)


def _collect_activations(found: Mapping[Arm, ArmResult], refs: Refs) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return the score of each candidate from the graph arm: float32 of shape ``(len(refs),)``."""
    brought = np.zeros(len(refs), dtype=np.float32)
    if arm := found.get(Arm.GRAPH):
        order = np.argsort(refs)
        at = order[np.searchsorted(refs, arm.hits.refs, sorter=order)]
        brought[at] = arm.hits.scores
    return brought


def _collect_ranks(found: Mapping[Arm, ArmResult], tier: int, refs: Sequence[int]) -> dict[int, tuple[ArmRank, ...]]:
    """Return, for each of these candidates of a tier, the arms that found it."""
    reasons: dict[int, tuple[ArmRank, ...]] = dict.fromkeys(refs, ())
    for arm, hits in zip(found, _collect_hits(found, tier), strict=True):
        ranks = {ref: rank for rank, ref in enumerate(hits.refs.tolist(), start=1)}
        for ref in ranks.keys() & reasons.keys():
            why = ArmRank(arm=arm.value, rank=ranks[ref], score=float(hits.scores[ranks[ref] - 1]))
            reasons[ref] = (*reasons[ref], why)
    return reasons
