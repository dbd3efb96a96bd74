"""Measure the speed of REMem's tools: ``python -m benchmarks.tools --facts 10000 100000``.

For each size, a bank with this number of facts and a quarter as many gists is written to disk and opened again. Then
each tool is called many times, each time with other arguments. ``cpu_p50_ms`` is the processor time of all threads of
the process. On a machine with other users it is more reliable than the elapsed time. ``benchmarks/toolgraph.py``
describes the contents of the bank.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypedDict, cast

from benchmarks.machine import hand_over, quantile, whole_number
from benchmarks.toolgraph import FIRST_YEAR, YEARS, ToolGraph
from recollect import Bank, Memory
from recollect.app import build_embedder
from recollect.methods.remem.observations import Observation
from recollect.methods.remem.tools import Toolkit
from recollect.store.sqlite.folder import SqliteFolder
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.reports.provenance import gather_provenance
from recollect_lab.reports.table import align_columns

BANK = "bench"
BATCH = 2000
WARM_CALLS = 3

Call = Callable[[Toolkit, Random, ToolGraph], Awaitable[Observation]]
Row = dict[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run. ``load`` is the machine's load average over the last minute when the run began."""

    facts: tuple[int, ...]
    calls: int
    seed: int
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A row for each size and call, and the origin of the figures."""

    rows: tuple[Row, ...]
    provenance: Mapping[str, object]

    def to_json(self) -> str:
        return json.dumps({"rows": self.rows, "provenance": self.provenance}, indent=2)

    def to_table(self) -> str:
        """Return the rows as plain text."""
        return align_columns([tuple(self.rows[0]), *(tuple(map(str, row.values())) for row in self.rows)])


def _triple(rng: Random, graph: ToolGraph) -> tuple[str, str, str]:
    triple = graph.fact(rng.randrange(graph.facts))
    return triple.subject, triple.predicate, triple.object


class Times(TypedDict):
    """The time arguments that every tool takes."""

    start_time: str
    end_time: str
    start_operator: str
    end_operator: str


def _overlap(rng: Random) -> Times:
    """Return arguments for facts that overlap a period of ten years (figure 5)."""
    year = FIRST_YEAR + rng.randrange(YEARS - 10)
    return Times(start_time=f"{year + 10}", start_operator="le", end_time=f"{year}", end_operator="ge")


async def _semantic(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.semantic_retrieve(" ".join(_triple(rng, graph)))


async def _semantic_in_time(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.semantic_retrieve(" ".join(_triple(rng, graph)), **_overlap(rng))


async def _lexical(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.lexical_retrieve(" ".join(_triple(rng, graph)))


async def _lexical_in_time(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.lexical_retrieve(" ".join(_triple(rng, graph)), **_overlap(rng))


async def _gist(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.find_gist_contexts(f"gist:{rng.randrange(graph.messages)}")


async def _subject(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.find_entity_contexts(subject=_triple(rng, graph)[0])


async def _nth(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    subject, predicate, _ = _triple(rng, graph)
    times = _overlap(rng)
    return await tools.find_entity_contexts(subject=subject, predicate=predicate, ordering="asc", limit=1, **times)


async def _predicate(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.find_entity_contexts(predicate=_triple(rng, graph)[1], ordering="desc", **_overlap(rng))


async def _count(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    how = rng.choice(("count", "count_unique_subjects", "count_unique_objects"))
    return await tools.find_entity_contexts(predicate=_triple(rng, graph)[1], aggregation=how, **_overlap(rng))


async def _unknown(tools: Toolkit, rng: Random, graph: ToolGraph) -> Observation:
    return await tools.find_entity_contexts(subject=f"nobody {rng.random()}")


CALLS: Mapping[str, Call] = {
    "semantic_retrieve": _semantic,
    "semantic_retrieve, times": _semantic_in_time,
    "lexical_retrieve": _lexical,
    "lexical_retrieve, times": _lexical_in_time,
    "find_gist_contexts": _gist,
    "find_entity_contexts, subject": _subject,
    "find_entity_contexts, first in time": _nth,
    "find_entity_contexts, predicate, times": _predicate,
    "find_entity_contexts, aggregation": _count,
    "find_entity_contexts, unknown": _unknown,
}


def measure(options: Options) -> Report:
    """Measure every size. Report each on stderr when it is done."""
    largest = ToolGraph(facts=max(options.facts), seed=options.seed)
    made_up = Dataset(name="benchmarks.toolgraph", conversations=(), place="message", checksum=largest.fingerprint)
    provenance = gather_provenance(made_up, settings=options, at=datetime.now(UTC)).to_json()
    rows = [row for facts in options.facts for row in asyncio.run(_measure_size(options, facts))]
    return Report(rows=tuple(rows), provenance=provenance)


async def _measure_size(options: Options, facts: int) -> list[Row]:
    began, graph = time.perf_counter(), ToolGraph(facts=facts, seed=options.seed)
    with TemporaryDirectory(prefix="recollect-tools-") as folder:
        await _fill(Path(folder), graph)
        print(f"{facts} facts: written in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        async with Memory.open(folder, embedder=build_embedder("wordllama")) as memory:
            bank = await memory.bank(BANK)
            rows = [await _measured(bank, graph, name, options) for name in CALLS]
    print(f"{facts} facts: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return rows


async def _fill(folder: Path, graph: ToolGraph) -> None:
    """Write the bank as a worker would: the items of some messages at a time."""
    embedder, banks = build_embedder("wordllama"), SqliteFolder(folder)
    store = await banks.open(BANK, embedder=embedder.name, dimension=embedder.dimension)
    for at in range(0, graph.messages, BATCH):
        await store.commit(await graph.changeset(embedder, range(at, min(at + BATCH, graph.messages))))
    await banks.close()


async def _measured(bank: Bank, graph: ToolGraph, name: str, options: Options) -> Row:
    """Measure a call. Each time it has new tools, as an agent would have them for each question."""
    rng, spent, worked, shown = Random(f"{options.seed}:{name}"), [], [], 0
    for number in range(WARM_CALLS + options.calls):
        tools = cast(Toolkit, bank.tools())
        began, busy = time.perf_counter(), time.process_time()
        observation = await CALLS[name](tools, rng, graph)
        if number >= WARM_CALLS:
            spent.append((time.perf_counter() - began) * 1000)
            worked.append((time.process_time() - busy) * 1000)
            shown += len(observation.items)
    return {
        "facts": graph.facts,
        "call": name,
        "p50_ms": _rounded(quantile(spent, 0.5)),
        "p95_ms": _rounded(quantile(spent, 0.95)),
        "cpu_p50_ms": _rounded(quantile(worked, 0.5)),
        "shown": _rounded(shown / options.calls),
    }


def _rounded(value: float) -> float:
    """Round to three significant digits. None of these figures is more exact."""
    return float(f"{value:.3g}")


def _options(arguments: Sequence[str] | None) -> tuple[Options, argparse.Namespace]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tools", description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=whole_number, nargs="+", default=[10_000, 100_000], help="sizes to measure")
    parser.add_argument("--calls", type=whole_number, default=200, help="calls of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    return Options(facts=tuple(given.facts), calls=given.calls, seed=given.seed, load=load), given


def main(arguments: Sequence[str] | None = None) -> None:
    options, given = _options(arguments)
    hand_over(measure(options), given)


if __name__ == "__main__":
    main()
