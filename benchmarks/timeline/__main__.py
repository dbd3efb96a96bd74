"""Measure temporal reasoning without a model: ``python -m benchmarks.timeline --questions 2800 --seed 1 --json``.

``benchmarks/README.md`` describes the questions, and the limits of the figures.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.machine import hand_over
from benchmarks.timeline.facts import UNITS
from benchmarks.timeline.graphs import GraphSettings
from benchmarks.timeline.run import Options, load_average, run

FEWEST: Final = 100
"""The fewest facts of a graph. With fewer facts, some shapes do not have a question of every type."""
MOST: Final = 1000


def main(arguments: Sequence[str] | None = None) -> None:
    given = _parsed(arguments)
    graphs = GraphSettings(facts=given.facts, precision=given.precision)
    options = Options(questions=given.questions, seed=given.seed, graphs=graphs, load=load_average())
    report = asyncio.run(run(options))
    hand_over(report, given)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timeline", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--questions", type=int, default=2800, help="number, in equal shares of eight types, five a graph"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of graphs and questions")
    parser.add_argument("--facts", type=int, default=275, help="facts of a graph, up to a third more or less")
    parser.add_argument("--precision", choices=UNITS, default="year", help="precision of times")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    if given.questions < 1 or not FEWEST <= given.facts <= MOST:
        parser.error(f"--questions must be 1 or more, and --facts must be {FEWEST} to {MOST}")
    return given


if __name__ == "__main__":
    main()
