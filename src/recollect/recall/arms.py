"""Run the arms. Each finds candidates in its own way, and reports what it did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from recollect.domain.queries import SearchProbe
from recollect.domain.recalls import ArmReport, ArmStatus
from recollect.recall.settings import Arm, RecallSettings, SearchBudget
from recollect.recall.spread import merge_activation, select_strongest, spread_step
from recollect.store.search import Hits, Search, join_hits

T = TypeVar("T")

_LINKED_ITEMS = 50
NO_HITS = Hits(refs=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32))


@dataclass(slots=True, kw_only=True)
class ArmInput:
    """The input of the arms: one view of the bank, the probe, and the search budget.

    The arms that begin with the items nearest in meaning share one search for them.
    """

    search: Search
    probe: SearchProbe
    budget: SearchBudget
    settings: RecallSettings
    _nearest: Hits | None = None
    _searching: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def nearest(self) -> Hits:
        """Return the items nearest in meaning."""
        async with self._searching:
            if self._nearest is None:
                all_of_them = Arm.SEMANTIC in self.settings.arms
                self._nearest = await self.search.semantic(
                    self.budget.candidates if all_of_them else self.budget.entries
                )
            return self._nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """An arm's hits and its report."""

    hits: Hits
    report: ArmReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Generic[T]):
    """The result of a search in one way, and the time that it took."""

    result: T
    status: ArmStatus
    note: str
    seconds: float

    def report(self, arm: str, candidates: int) -> ArmReport:
        """Return the attempt as a line of a receipt."""
        return ArmReport(arm=arm, status=self.status, seconds=self.seconds, candidates=candidates, note=self.note)


class ArmIdle(Exception):
    """Tells that an arm had nothing to do. The message says why."""


async def run_semantic(field: ArmInput) -> Hits:
    """Find the items nearest in meaning (equations 9, 10)."""
    if reason := field.probe.no_meaning_reason:
        raise ArmIdle(reason)
    return await field.nearest()


async def run_lexical(field: ArmInput) -> Hits:
    """Find the items that share words with the question (equation 11)."""
    if not field.probe.terms.size:
        raise ArmIdle("the question has no words to look for")
    return await field.search.lexical(field.budget.candidates)


async def run_temporal(field: ArmInput) -> Hits:
    """Find the items in the time asked about (equations 13, 14), and items in this time that are linked to them."""
    if field.probe.during is None:
        raise ArmIdle("the question names no time")
    found = await field.search.temporal(field.budget.candidates)
    tiers = found.by_tier()
    entries = [_start_activation(hits, field.budget.entries) for hits in tiers]
    walked = await _spread_activation(field, entries, in_time=True)
    return _join_tiers(
        found, [_add_linked(hits, linked, field.budget) for hits, linked in zip(tiers, walked, strict=True)]
    )


async def run_graph(field: ArmInput) -> Hits:
    """Find the items that are linked to the items nearest in meaning (equation 12).

    In a bank without vectors, the walk begins with the items that share most words with the question.
    """
    nearest = await (run_semantic(field) if field.probe.has_vector else run_lexical(field))
    entries = [
        {ref: min(max(score, 0.0), 1.0) for ref, score in _start_activation(hits, field.budget.entries).items()}
        for hits in nearest.by_tier()
    ]
    walked = await _spread_activation(field, entries)
    return _join_tiers(nearest, [_ranked(reached, field.budget.candidates) for reached in walked])


def _start_activation(hits: Hits, count: int) -> dict[int, float]:
    """Return the first hits with their scores, as the start of a walk."""
    return dict(zip(hits.refs[:count].tolist(), hits.scores[:count].tolist(), strict=True))


def _add_linked(hits: Hits, walked: Mapping[int, float], reach: SearchBudget) -> Hits:
    """Return the hits together with the strongest items that a walk reached from them."""
    known = set(hits.refs.tolist())
    most = min(_LINKED_ITEMS, reach.candidates // 2)  # items found by their own time keep at least half of the places
    linked = _ranked({ref: brought for ref, brought in walked.items() if ref not in known}, most)
    room = reach.candidates - len(linked.refs)
    return Hits(
        refs=np.concatenate([hits.refs[:room], linked.refs]),
        scores=np.concatenate([hits.scores[:room], linked.scores]),
    )


def _ranked(activation: Mapping[int, float], count: int) -> Hits:
    """Return the most active items as hits."""
    best = select_strongest(activation, count)
    return Hits(refs=np.array(best, dtype=np.int64), scores=np.array([activation[r] for r in best], dtype=np.float32))


def _join_tiers(found: Hits, tiers: Sequence[Hits]) -> Hits:
    """Return the hits of the tiers as one value. The hits of a search without tiers have no sizes."""
    return join_hits(tiers) if found.sizes else tiers[0]


ARMS: Mapping[Arm, Callable[[ArmInput], Awaitable[Hits]]] = {
    Arm.SEMANTIC: run_semantic,
    Arm.LEXICAL: run_lexical,
    Arm.GRAPH: run_graph,
    Arm.TEMPORAL: run_temporal,
}


async def run_arms(field: ArmInput) -> dict[Arm, ArmResult]:
    """Run the arms of the settings at the same time, each until its deadline.

    A failure of one does not stop the others.
    """
    async with asyncio.TaskGroup() as group:  # cancels the arms if the recall is cancelled
        tasks = {arm: group.create_task(_run_timed(arm, field)) for arm in field.settings.arms}
    return {arm: task.result() for arm, task in tasks.items()}


async def _run_timed(arm: Arm, field: ArmInput) -> ArmResult:
    tried = await run_until_deadline(lambda: ARMS[arm](field), NO_HITS, field.settings.deadline_s)
    report = tried.report(arm.value, len(tried.result.refs))
    return ArmResult(hits=tried.result, report=replace(report, note=report.note or tried.result.note))


async def run_until_deadline(find: Callable[[], Awaitable[T]], default: T, deadline_s: float) -> Attempt[T]:
    """Search until the deadline, in seconds. If the search is idle, too slow or fails, the result is ``default``."""
    began = time.perf_counter()
    found, status, note = default, ArmStatus.OK, ""
    deadline = asyncio.timeout(deadline_s)
    try:
        async with deadline:
            found = await find()
    except ArmIdle as exc:
        status, note = ArmStatus.IDLE, str(exc)
    except Exception as exc:  # the receipt reports any failure of an arm, and the others go on
        status, note = ArmStatus.FAILED, f"{type(exc).__name__}: {exc}"
        if isinstance(exc, TimeoutError) and deadline.expired():  # a store has its own timeouts
            status, note = ArmStatus.TIMEOUT, f"no answer within {deadline_s} s"
    return Attempt(result=found, status=status, note=note, seconds=time.perf_counter() - began)


async def _spread_activation(
    field: ArmInput, entries: Sequence[dict[int, float]], *, in_time: bool = False
) -> list[dict[int, float]]:
    """Return the activation of each tier after the effort's steps, including that of its entries.

    With ``in_time``, the walk never leaves the time asked about. All tiers take each step together. No link leads from
    one tier into another.
    """
    spread = field.settings.spread
    activations, frontiers = [dict(one) for one in entries], [dict(one) for one in entries]
    for _ in range(field.budget.steps):
        refs = [ref for frontier in frontiers for ref in select_strongest(frontier, spread.frontier)]
        if not refs:
            break
        edges = await field.search.edges(np.array(refs, dtype=np.int64), spread.fan_out)
        reached = [spread_step(frontier, edges, spread) for frontier in frontiers]
        if in_time:
            reached = await _keep_within_time(field, reached)
        frontiers = [
            {ref: a for ref, a in one.items() if a > activation.get(ref, 0.0)}
            for one, activation in zip(reached, activations, strict=True)
        ]
        activations = [merge_activation(activation, one) for activation, one in zip(activations, reached, strict=True)]
    return activations


async def _keep_within_time(field: ArmInput, reached: Sequence[dict[int, float]]) -> list[dict[int, float]]:
    """Return the reached items that overlap the time asked about (equation 13)."""
    refs = np.array([ref for one in reached for ref in one], dtype=np.int64)
    inside = set(refs[await field.search.within_time(refs)].tolist()) if len(refs) else set[int]()
    return [{ref: a for ref, a in one.items() if ref in inside} for one in reached]
