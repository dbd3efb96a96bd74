"""Measure several processes that write one bank with a slow embedder: ``python -m benchmarks.writers --json``.

Each writer retains one message after another. Its embedder waits as long as an endpoint takes to answer. The figures
show whether the writers wait for each other's embedders, and whether each process gets its share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

from benchmarks.machine import hand_over, quantile, whole_number
from recollect import Memory, Message
from recollect.errors import RecollectError
from recollect.models.embedder import Purpose, Vectors
from recollect.testing.models import HashEmbedder
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.reports.provenance import gather_provenance
from recollect_lab.reports.table import align_columns

TEXT = "Writer {writer} of process {process} says sentence {number} about the lake."

Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run. ``load`` is the machine's load average over the last minute when the run began."""

    processes: int
    writers: int
    seconds: float
    delay_ms: float
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The work of one process: the seconds of each write, the calls of its embedder, and the writes that failed."""

    seconds: tuple[float, ...]
    calls: int
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures, and their origin."""

    figures: Figures
    provenance: Mapping[str, object]

    def to_json(self) -> str:
        return json.dumps({**self.figures, "provenance": self.provenance}, indent=2)

    def to_table(self) -> str:
        return align_columns([("figure", "value"), *((name, f"{value:g}") for name, value in self.figures.items())])


class SlowEmbedder(HashEmbedder):
    """Waits before it embeds, as long as an endpoint takes to answer."""

    def __init__(self, delay_s: float) -> None:
        super().__init__()
        self.calls, self._delay_s = 0, delay_s

    async def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> Vectors:
        self.calls += 1
        await asyncio.sleep(self._delay_s)
        return await super().embed(texts, purpose=purpose)


def measure(options: Options) -> Figures:
    """Let all processes write at the same time. Return the figures of all of them together."""
    with TemporaryDirectory(prefix="recollect-bench-") as folder:
        context = multiprocessing.get_context("spawn")
        with context.Manager() as manager, ProcessPoolExecutor(options.processes, mp_context=context) as pool:
            ready = manager.Barrier(options.processes)
            given = [(folder, number, ready, options) for number in range(options.processes)]
            done = list(pool.map(_run_process, given))
    shares = [len(one.seconds) for one in done]
    seconds = [value for one in done for value in one.seconds] or [0.0]
    return {
        "writes": sum(shares),
        "writes_per_s": round(sum(shares) / options.seconds, 2),
        "fewest_of_a_process": min(shares),
        "most_of_a_process": max(shares),
        "embedder_calls": sum(one.calls for one in done),
        "errors": sum(one.errors for one in done),
        "write_p50_s": round(quantile(seconds, 0.5), 3),
        "write_p95_s": round(quantile(seconds, 0.95), 3),
        "write_max_s": round(max(seconds), 3),
    }


def _run_process(given: tuple[str, int, Barrier, Options]) -> Written:
    return asyncio.run(_write(*given))


async def _write(folder: str, process: int, ready: Barrier, options: Options) -> Written:
    embedder, seconds, errors = SlowEmbedder(options.delay_ms / 1000), list[float](), 0
    async with Memory.open(folder, embedder=embedder, model="none") as memory:
        bank = await memory.bank("bench")
        await bank.retain(Message(text="The first message of a process takes longer than the others."))
        embedder.calls = 0
        await asyncio.to_thread(ready.wait)
        end = time.perf_counter() + options.seconds

        async def write(writer: int) -> None:
            nonlocal errors
            number = 0
            while (began := time.perf_counter()) < end:
                number += 1
                text = TEXT.format(writer=writer, process=process, number=number)
                try:
                    await bank.retain(Message(speaker="Ada", text=text), session=f"{process}-{writer}")
                except RecollectError:
                    errors += 1
                else:
                    seconds.append(time.perf_counter() - began)

        await asyncio.gather(*(write(writer) for writer in range(options.writers // options.processes)))
    return Written(seconds=tuple(seconds), calls=embedder.calls, errors=errors)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writers", description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=whole_number, default=4)
    parser.add_argument("--writers", type=whole_number, default=8, help="writers in all processes together")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--delay-ms", type=float, default=200.0, help="the time that the embedder takes for a call")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    options = Options(
        processes=given.processes,
        writers=given.writers,
        seconds=given.seconds,
        delay_ms=given.delay_ms,
        load=os.getloadavg()[0],
    )
    checksum = sha256(json.dumps([TEXT, asdict(options)["writers"]]).encode()).hexdigest()
    made_up = Dataset(name="benchmarks.writers", conversations=(), place="message", checksum=checksum)
    provenance = gather_provenance(made_up, settings=options, at=datetime.now(UTC)).to_json()
    hand_over(Report(figures=measure(options), provenance=provenance), given)


if __name__ == "__main__":
    main()
