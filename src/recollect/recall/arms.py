"""The arms: each finds candidates in its own way, and says what it did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from recollect.domain.queries import Probe
from recollect.domain.recalls import ArmReport, ArmStatus
from recollect.recall.settings import Arm, Reach, RecallSettings
from recollect.recall.spread import merged, step, strongest
from recollect.store.search import Hits, Search

T = TypeVar("T")

_LINKED = 50
NOTHING = Hits(refs=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32))


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What an arm may use: one view of the bank, the probe, and how far to go."""

    search: Search
    probe: Probe
    reach: Reach
    settings: RecallSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An arm's hits and its report."""

    hits: Hits
    report: ArmReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Generic[T]):
    """What came of looking in one way, and how long that took."""

    found: T
    status: ArmStatus
    note: str
    seconds: float

    def report(self, arm: str, candidates: int) -> ArmReport:
        """The same as a line of a receipt."""
        return ArmReport(arm=arm, status=self.status, seconds=self.seconds, candidates=candidates, note=self.note)


class Idle(Exception):
    """An arm had nothing to do; the message says why."""


async def semantic(field: Field) -> Hits:
    """Nearest in meaning (equations 9, 10)."""
    if not field.probe.vector.any():
        raise Idle("the question has no words that the embedder knows")
    return await field.search.semantic(field.reach.candidates)


async def lexical(field: Field) -> Hits:
    """Sharing words (equation 11)."""
    if not field.probe.terms.size:
        raise Idle("the question has no words to look for")
    return await field.search.lexical(field.reach.candidates)


async def temporal(field: Field) -> Hits:
    """In the time asked about (equations 13, 14), and what is linked to that and lies in it too."""
    if field.probe.during is None:
        raise Idle("the question names no time")
    hits = await field.search.temporal(field.reach.candidates)
    entries = dict(zip(hits.refs[: field.reach.entries].tolist(), hits.scores.tolist(), strict=False))
    walked = await _walk(field, entries, in_time=True)
    known = set(hits.refs.tolist())
    most = min(_LINKED, field.reach.candidates // 2)  # what was found by its own time keeps half the room
    linked = strongest({ref: brought for ref, brought in walked.items() if ref not in known}, most)
    room = field.reach.candidates - len(linked)
    return Hits(
        refs=np.concatenate([hits.refs[:room], np.array(linked, dtype=np.int64)]),
        scores=np.concatenate([hits.scores[:room], np.array([walked[ref] for ref in linked], dtype=np.float32)]),
    )


async def graph(field: Field) -> Hits:
    """Linked to what is nearest in meaning (equation 12)."""
    if not field.probe.vector.any():
        raise Idle("the question has no words that the embedder knows")
    nearest = await field.search.semantic(field.reach.entries)
    entries = dict(zip(nearest.refs.tolist(), np.clip(nearest.scores, 0, 1).tolist(), strict=True))
    activation = await _walk(field, entries)
    best = strongest(activation, field.reach.candidates)
    return Hits(refs=np.array(best, dtype=np.int64), scores=np.array([activation[r] for r in best], dtype=np.float32))


ARMS: Mapping[Arm, Callable[[Field], Awaitable[Hits]]] = {
    Arm.SEMANTIC: semantic,
    Arm.LEXICAL: lexical,
    Arm.GRAPH: graph,
    Arm.TEMPORAL: temporal,
}


async def run_arms(field: Field) -> dict[Arm, Found]:
    """Run the arms of the settings at once, each until its deadline; none can break another."""
    async with asyncio.TaskGroup() as group:  # takes the arms with it when the recall is cancelled
        tasks = {arm: group.create_task(_timed(arm, field)) for arm in field.settings.arms}
    return {arm: task.result() for arm, task in tasks.items()}


async def _timed(arm: Arm, field: Field) -> Found:
    tried = await attempted(lambda: ARMS[arm](field), NOTHING, field.settings.deadline_s)
    report = tried.report(arm.value, len(tried.found.refs))
    return Found(hits=tried.found, report=replace(report, note=report.note or tried.found.note))


async def attempted(find: Callable[[], Awaitable[T]], nothing: T, deadline_s: float) -> Attempt[T]:
    """Look until the deadline, in seconds; ``nothing`` was found where that is idle, takes too long or breaks."""
    began = time.perf_counter()
    found, status, note = nothing, ArmStatus.OK, ""
    deadline = asyncio.timeout(deadline_s)
    try:
        async with deadline:
            found = await find()
    except Idle as exc:
        status, note = ArmStatus.IDLE, str(exc)
    except Exception as exc:  # whatever breaks an arm is told in the receipt; the others go on
        status, note = ArmStatus.FAILED, f"{type(exc).__name__}: {exc}"
        if isinstance(exc, TimeoutError) and deadline.expired():  # a store has timeouts of its own
            status, note = ArmStatus.TIMEOUT, f"no answer within {deadline_s} s"
    return Attempt(found=found, status=status, note=note, seconds=time.perf_counter() - began)


async def _walk(field: Field, entries: dict[int, float], *, in_time: bool = False) -> dict[int, float]:
    """Activation after the effort's steps, the entries' own included; ``in_time`` never leaves the time asked about."""
    spread, activation, frontier = field.settings.spread, dict(entries), dict(entries)
    for _ in range(field.reach.steps):
        refs = strongest(frontier, spread.frontier)
        if not refs:
            break
        edges = await field.search.edges(np.array(refs, dtype=np.int64), spread.fan_out)
        reached = step(frontier, edges, spread)
        if in_time:
            reached = await _within_time(field, reached)
        frontier = {ref: a for ref, a in reached.items() if a > activation.get(ref, 0.0)}
        activation = merged(activation, reached)
    return activation


async def _within_time(field: Field, reached: dict[int, float]) -> dict[int, float]:
    """What of it overlaps the time asked about (equation 13)."""
    refs = np.array(list(reached), dtype=np.int64)
    inside = refs[await field.search.within_time(refs)] if len(refs) else refs
    return {ref: reached[ref] for ref in inside.tolist()}
