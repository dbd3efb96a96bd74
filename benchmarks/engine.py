"""Measure the speed of the engine and its growth: ``python -m benchmarks.engine --items 1000 10000 100000``.

For each size, one process fills a bank on disk. A second process opens the bank, answers questions, and writes single
messages. ``benchmarks/README.md`` describes the figures and their limits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import Corpus
from benchmarks.machine import hand_over, whole_number
from benchmarks.worker import Plan
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.reports.provenance import gather_provenance
from recollect_lab.reports.table import align_columns

Row = dict[str, float]

FIRST = ("items", "ingest_per_s", "recall_p50_ms", "recall_p95_ms", "open_s", "rss_mb", "file_mb")
SHOWN = (*FIRST, "ingest_last_per_s", "single_retain_ms", "first_recall_s", "found@10")
ROOT = Path(__file__).resolve().parents[1]
FINGERPRINTED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run. ``load`` is the machine's load average over the last minute when the run began."""

    items: tuple[int, ...]
    batch: int
    queries: int
    singles: int
    seed: int
    import_s: float
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A row for each size in the order of the options, and the origin of the figures."""

    rows: tuple[Row, ...]
    provenance: Mapping[str, object]

    def to_json(self) -> str:
        whole = {"rows": self.rows, "growth": growth(self.rows), "provenance": self.provenance}
        return json.dumps(whole, indent=2)

    def to_table(self) -> str:
        """Return the rows, and the growth between them, as plain text."""
        lines = [tuple(_shown(name, row.get(name)) for name in SHOWN) for row in self.rows]
        grown = [tuple(_ratio(grew.get(name)) for name in SHOWN) for grew in growth(self.rows).values()]
        return align_columns([SHOWN, *lines, *grown])


def measure(options: Options) -> Report:
    """Measure every size. Report each on stderr when it is done."""
    provenance = _provenance(options)
    return Report(rows=tuple(_measure_size(options, items) for items in options.items), provenance=provenance)


def growth(rows: Sequence[Row]) -> dict[str, Row]:
    """Divide each figure of a size by that of the size before: ``{"1000 to 10000": {"recall_p50_ms": 1.8}}``."""
    return {
        f"{small['items']:.0f} to {large['items']:.0f}": {
            name: round(value / small[name], 3) for name, value in large.items() if small.get(name)
        }
        for small, large in pairwise(rows)
    }


def _measure_size(options: Options, items: int) -> Row:
    began = time.perf_counter()
    with TemporaryDirectory(prefix="recollect-bench-") as folder:
        plan = Plan(
            folder=folder,
            items=items,
            batch=options.batch,
            queries=options.queries,
            singles=options.singles,
            seed=options.seed,
        )
        figures = {"items": float(items), **_stage("ingest", plan), **_stage("serve", plan)}
    print(f"{items} items: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    ordered = [*FIRST, *(name for name in figures if name not in FIRST)]
    return {name: items if name == "items" else _rounded(figures[name]) for name in ordered}


def _stage(name: str, plan: Plan) -> Row:
    done = _python("-m", "benchmarks.worker", name, plan.to_json())
    figures: Row = json.loads(done)
    return figures


def _import_seconds() -> float:
    program = "import time; t = time.perf_counter(); import recollect; print(time.perf_counter() - t)"
    return min(float(_python("-c", program)) for _ in range(3))


def _python(*arguments: str) -> str:
    """Return the output of a new Python interpreter. Its errors go to our stderr."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def _provenance(options: Options) -> dict[str, object]:
    corpus = Corpus(items=FINGERPRINTED, needles=options.queries, seed=options.seed)
    made_up = Dataset(name="benchmarks.corpus", conversations=(), place="message", checksum=corpus.fingerprint())
    return gather_provenance(made_up, settings=options, at=datetime.now(UTC)).to_json()


def _rounded(value: float) -> float:
    """Round to four significant digits. None of these figures is more exact."""
    return float(f"{value:.4g}")


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if name == "items" or value >= 100 else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"x {value:.2f}"


def _options(arguments: Sequence[str] | None) -> tuple[Options, argparse.Namespace]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--items", type=whole_number, nargs="+", default=[1000, 10_000, 100_000], help="sizes to measure"
    )
    parser.add_argument("--batch", type=whole_number, default=500, help="messages (one session) in a call of retain")
    parser.add_argument("--queries", type=whole_number, default=200, help="questions for each size")
    parser.add_argument("--singles", type=int, default=300, help="messages to retain one by one; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    options = Options(
        items=tuple(given.items),
        batch=given.batch,
        queries=given.queries,
        singles=given.singles,
        seed=given.seed,
        import_s=_rounded(_import_seconds()),
        load=os.getloadavg()[0],
    )
    return options, given


def main(arguments: Sequence[str] | None = None) -> None:
    options, given = _options(arguments)
    hand_over(measure(options), given)


if __name__ == "__main__":
    main()
