"""Measure E-mem's routing to segments: ``python -m benchmarks.routing --data locomo.json``.

The figures are the shares of a question's evidence in the segments that are activated for it. They are measured for all
pathways together, for each alone, for plain BM25 over whole segments, and for chance. No model is used: summaries are
extracts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from benchmarks.baselines import Bm25, ranked
from benchmarks.machine import hand_over
from recollect.app import build_embedder
from recollect.domain.queries import Query
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.router import Router
from recollect.methods.emem.segment_view import split_lines
from recollect.methods.emem.settings import Pathway, RouteSettings
from recollect.models.embedder import Embedder
from recollect.models.languages.unconfigured import UnconfiguredModel
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.segments import SegmentSettings, read_segment, render_line
from recollect.store.protocol import Store
from recollect.store.sqlite.folder import SqliteFolder
from recollect.text.tokens import count_all
from recollect_lab.datasets import LOADERS, load_dataset
from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion
from recollect_lab.reports.bootstrap import Estimate, estimate_mean
from recollect_lab.reports.provenance import Provenance, gather_provenance
from recollect_lab.reports.table import align_columns, format_share

MOST = 20
ALL, BM25, CHANCE = "all pathways", "BM25 over whole segments", "by chance"

Route = Callable[[DatasetQuestion], Awaitable[Sequence[int]]]
"""A function from a question to segments, the strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRun:
    """The settings that are needed to get the figures again. ``load`` is the load average of the last minute at the
    start.
    """

    length: int
    overlap: int
    taus: tuple[int, ...]
    embedder: str
    route: RouteSettings
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A conversation that is stored in segments.

    ``whole`` has the segments that contain each message whole. ``tokens`` has the messages of each segment with their
    tokens. ``until`` is the time of the last message.
    """

    store: Store
    until: datetime
    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    whole: Mapping[str, frozenset[int]]
    tokens: Mapping[int, Mapping[str, int]]

    def evidence(self, question: DatasetQuestion, activated: Iterable[int]) -> float:
        """Return the share of a question's evidence that is in the segments."""
        chosen = set(activated)
        return fmean(bool(self.whole.get(one, frozenset()) & chosen) for one in question.evidence)

    def read(self, activated: Iterable[int]) -> float:
        """Return the share of the conversation's tokens that is in the segments. A message that is in two segments
        counts once.
        """
        merged = {id_: cost for number in activated for id_, cost in self.tokens[number].items()}
        everything = {id_: cost for one in self.tokens.values() for id_, cost in one.items()}
        return sum(merged.values()) / sum(everything.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question and the results of one system for it, by tau."""

    question: str
    category: str
    evidence: Mapping[int, float]
    read: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingReport:
    """The rows of every system, question by question."""

    rows: Mapping[str, Sequence[Row]]
    segments: Mapping[str, int]
    taus: tuple[int, ...]
    provenance: Provenance

    def to_json(self) -> str:
        systems = {name: {str(tau): self._figures(name, tau) for tau in self.taus} for name in self.rows}
        told = {"systems": systems, "segments": dict(self.segments), "provenance": self.provenance.to_json()}
        return json.dumps(told, indent=2)

    def to_table(self) -> str:
        """Return a table with a line for each system: the share of the evidence with its 95 % interval, and the share
        of the tokens.
        """
        header = ("system", *(title for tau in self.taus for title in (f"evidence, tau {tau}", "tokens")))
        return align_columns([header, *((name, *self._cells(name)) for name in self.rows)])

    def _cells(self, name: str) -> Iterable[str]:
        for tau in self.taus:
            one = self.estimate(name, tau)
            yield f"{format_share(one.mean)} [{format_share(one.low)} {format_share(one.high)}]"
            yield format_share(self._read(name, tau))

    def estimate(self, name: str, tau: int) -> Estimate:
        """Return the mean share of a question's evidence that is in at most ``tau`` segments."""
        return estimate_mean([row.evidence[tau] for row in self.rows[name]])

    def _read(self, name: str, tau: int) -> float:
        return fmean(row.read[tau] for row in self.rows[name])

    def _figures(self, name: str, tau: int) -> dict[str, object]:
        less = [
            row.evidence[tau] - ours.evidence[tau] for row, ours in zip(self.rows[name], self.rows[ALL], strict=True)
        ]
        categories = sorted({row.category for row in self.rows[name]})
        return {
            "evidence": _estimate(self.estimate(name, tau)),
            "less all pathways": None if name == ALL else _estimate(estimate_mean(less)),
            "tokens_read": self._read(name, tau),
            "by_category": {
                category: fmean(row.evidence[tau] for row in self.rows[name] if row.category == category)
                for category in categories
            },
        }


async def held_in_segments(
    conversation: DatasetConversation, folder: SqliteFolder, embedder: Embedder, settings: SegmentSettings
) -> Held:
    """Store a conversation in a new bank in memory."""
    encoder = TurnEncoder(embedder, settings=EncodeSettings(segments=settings))
    name = f"bank{len(await folder.names())}"
    store = await folder.open(name, embedder=embedder.name, dimension=embedder.dimension)
    for session in conversation.sessions:
        changes = await encoder.encode(session.messages, session=session.id, reader=store, now=session.at)
        await store.commit(changes)
    segments = [await read_segment(store, segment.number) for segment in await store.segments()]
    whole: dict[str, frozenset[int]] = {}
    tokens: dict[int, dict[str, int]] = {}
    for segment in segments:
        lines = split_lines(segment)
        costs = count_all([line for _, line in lines])
        tokens[segment.number] = {message.id: cost for (message, _), cost in zip(lines, costs, strict=True)}
        for message, line in lines:
            if line == render_line(message):
                whole[message.id] = whole.get(message.id, frozenset()) | {segment.number}
    return Held(
        store=store,
        until=max(message.at for message in await store.messages()),
        texts=tuple(segment.text for segment in segments),
        numbers=tuple(segment.number for segment in segments),
        whole=whole,
        tokens=tokens,
    )


async def routes(held: Held, embedder: Embedder, settings: RouteSettings) -> dict[str, Route]:
    """Return every system that chooses segments, by name."""
    alone = {f"{pathway.value} alone": replace(settings, pathways=(pathway,)) for pathway in Pathway}
    chosen = {ALL: settings, **alone}
    plain = Bm25()
    await plain.add(held.texts)

    async def by_bm25(question: DatasetQuestion) -> Sequence[int]:
        return [held.numbers[at] for at in ranked(await plain.scores(question.text)).tolist()]

    return {**{name: by_pathways(held, _router(embedder, one)) for name, one in chosen.items()}, BM25: by_bm25}


def by_pathways(held: Held, router: Router) -> Route:
    """Return a route to the segments that a router activates."""

    async def route(question: DatasetQuestion) -> Sequence[int]:
        routed = await router.route(Query(text=question.text, now=question.at or held.until), held.store)
        return [one.number for one in routed.activated]

    return route


def _router(embedder: Embedder, settings: RouteSettings) -> Router:
    parts = Dependencies(
        embedder=embedder,
        retriever=TemprRetriever(embedder),
        model=UnconfiguredModel(),
        names=DirectoryCache(),
        clock=lambda: datetime.now(UTC),
    )
    return Router(parts, settings)


async def measure(
    dataset: Dataset, *, segments: SegmentSettings, route: RouteSettings, taus: tuple[int, ...], at: datetime
) -> RoutingReport:
    """Route every question that names its evidence. Report each conversation on stderr when it is done."""
    load = os.getloadavg()[0]
    embedder = build_embedder("wordllama")
    most = replace(route, tau=max(taus))  # a smaller tau takes the first of these
    rows: dict[str, list[Row]] = {}
    counts: dict[str, int] = {}
    folder = SqliteFolder(":memory:")
    for conversation in dataset.conversations:
        held = await held_in_segments(conversation, folder, embedder, segments)
        counts[conversation.id] = len(held.numbers)
        systems = await routes(held, embedder, most)
        for question in conversation.questions:
            if question.evidence:
                for name, system in systems.items():
                    rows.setdefault(name, []).append(_row(question, await system(question), held, taus))
                rows.setdefault(CHANCE, []).append(_by_chance(question, held, taus))
        print(f"{conversation.id}: {len(held.numbers)} segments", file=sys.stderr)
    await folder.close()
    run = RoutingRun(
        length=segments.length, overlap=segments.overlap, taus=taus, embedder=embedder.name, route=route, load=load
    )
    provenance = gather_provenance(dataset, settings=run, at=at)
    return RoutingReport(rows=rows, segments=counts, taus=taus, provenance=provenance)


def _row(question: DatasetQuestion, activated: Sequence[int], held: Held, taus: Sequence[int]) -> Row:
    return Row(
        question=question.id,
        category=question.category,
        evidence={tau: held.evidence(question, activated[:tau]) for tau in taus},
        read={tau: held.read(activated[:tau]) for tau in taus},
    )


def _by_chance(question: DatasetQuestion, held: Held, taus: Sequence[int]) -> Row:
    """Return the shares that random segments would have: exact for the evidence, and approximate for the tokens."""
    shares = {tau: min(tau / len(held.numbers), 1.0) for tau in taus}
    return Row(question=question.id, category=question.category, evidence=shares, read=shares)


def _estimate(one: Estimate) -> dict[str, float]:
    return {"mean": one.mean, "low": one.low, "high": one.high, "n": one.n}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the file, gzip or plain")
    parser.add_argument("--dataset", choices=sorted(LOADERS), default="locomo", help="format of the file")
    parser.add_argument("--length", type=int, default=2048, help="tokens of a segment")
    parser.add_argument("--overlap", type=int, default=256, help="tokens that a segment shares with the next one")
    parser.add_argument("--tau", type=int, nargs="+", default=[4, 8, 12], help="numbers of segments to activate")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    if not 1 <= min(given.tau) <= max(given.tau) <= MOST:
        parser.error(f"--tau must be 1 to {MOST}, because a query of the usual size lets no more through")
    report = asyncio.run(
        measure(
            load_dataset(given.data, kind=given.dataset),
            segments=SegmentSettings(length=given.length, overlap=given.overlap),
            route=RouteSettings(),
            taus=tuple(given.tau),
            at=datetime.now(UTC),
        )
    )
    hand_over(report, given)


if __name__ == "__main__":
    main()
