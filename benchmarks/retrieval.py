"""Compare recollect with plain retrieval: ``python -m benchmarks.retrieval --dataset locomo --data FILE``.

Every system gets the same conversations, the same questions and the same depth, in one process. Our systems retain only
once, because recipes and arms differ in how they find messages, not in what they store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.baselines import baselines
from recollect.app import Settings, build_embedder
from recollect.domain.queries import Effort
from recollect.models.embedder import Embedder
from recollect.recall.settings import Arm
from recollect_lab.cli.eval_banks import EvalBanks, make_report_settings
from recollect_lab.datasets import LOADERS, load_dataset
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.evals.bank import OpenBank
from recollect_lab.evals.report import RetrievalReport
from recollect_lab.evals.retrieval import evaluate_retrieval
from recollect_lab.reports.bootstrap import Estimate, estimate_mean
from recollect_lab.reports.provenance import gather_provenance
from recollect_lab.reports.table import align_columns, format_share

OURS = "recollect"
COMPARED = "recall@10"
SHOWN = ("recall@5", "recall@10", "recall@25", "recall@50", "session_recall@5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The reports of all systems on one data set, ours first."""

    reports: Mapping[str, RetrievalReport]

    def to_json(self) -> str:
        return json.dumps({"systems": {name: self._system(name) for name in self.reports}}, indent=2)

    def to_table(self) -> str:
        """Return a table with a line for each system.

        A line has means with their 95 % intervals, the difference to ours, and milliseconds for a question.
        """
        header = ("system", *SHOWN, f"{COMPARED} less ours", "p50 ms", "errors")
        return align_columns([header, *(self._line(name) for name in self.reports)])

    def difference(self, name: str) -> Estimate | None:
        """Return the difference of a system to ours: below 0 if it finds less. ``None`` for our own system.

        The difference is taken question by question, so that its interval is narrow.
        """
        ours, other = (_scores(self.reports[one], COMPARED) for one in (OURS, name))
        both = [other[question] - ours[question] for question in ours if question in other]
        return estimate_mean(both) if both and name != OURS else None

    def _line(self, name: str) -> tuple[str, ...]:
        report = self.reports[name]
        means = (_estimate(report.metrics.get(measure)) for measure in SHOWN)
        latency = report.seconds.recall_p50_ms
        cost = "-" if latency is None else f"{latency:.1f}"
        return (name, *means, _estimate(self.difference(name)), cost, str(report.counts.errors))

    def _system(self, name: str) -> dict[str, object]:
        difference = self.difference(name)
        less = None if difference is None else {"mean": difference.mean, "low": difference.low, "high": difference.high}
        return {**self.reports[name].to_json(), f"{COMPARED} less ours": less}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSettings:
    """The settings that are needed to get a baseline's figure again. Its constants are in
    ``benchmarks/baselines.py``.
    """

    system: str
    embedder: str | None


async def compare(dataset: Dataset, folder: Path, *, limit: int | None, depth: int, at: datetime) -> Comparison:
    """Evaluate every system. Report each on stderr when it is done."""
    embedder = build_embedder("wordllama")
    await embedder.embed(["hello"])
    systems = {**_ours(folder, embedder), **_plain(embedder)}
    reports: dict[str, RetrievalReport] = {}
    for name, (open_bank, settings) in systems.items():
        provenance = gather_provenance(dataset, settings=settings, at=at)
        reports[name] = await evaluate_retrieval(dataset, open_bank, provenance=provenance, depth=depth, limit=limit)
        print(f"{name}: {COMPARED} {reports[name].metrics[COMPARED].mean:.3f}", file=sys.stderr)
    return Comparison(reports=reports)


def _ours(folder: Path, embedder: Embedder) -> dict[str, tuple[OpenBank, object]]:
    """Return our default, the paper's fusion, and each arm alone, all over the same banks on disk."""
    chosen = {OURS: Settings(), "recipe tempr (RRF)": Settings(recipe="tempr")}
    chosen.update({f"only the {arm} arm": Settings(arms=(arm,)) for arm in Arm})
    # All systems share one folder, and its banks stay. So the first system writes, and the others only read.
    return {
        name: (
            EvalBanks(folder, settings, Effort.MID, embedder, None, keep=True).open,
            make_report_settings(settings, Effort.MID, embedder, None),
        )
        for name, settings in chosen.items()
    }


def _plain(embedder: Embedder) -> dict[str, tuple[OpenBank, object]]:
    def described(name: str) -> BaselineSettings:
        return BaselineSettings(system=name, embedder=embedder.name if "cosine" in name else None)

    return {name: (open_bank, described(name)) for name, open_bank in baselines(embedder).items()}


def _scores(report: RetrievalReport, measure: str) -> dict[tuple[str, str], float]:
    rows = (row for row in report.rows if measure in row.scores)
    return {(row.conversation, row.question): row.scores[measure] for row in rows}


def _estimate(one: Estimate | None) -> str:
    return "-" if one is None else f"{format_share(one.mean)} [{format_share(one.low)} {format_share(one.high)}]"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", choices=sorted(LOADERS), required=True, help="format of the file")
    parser.add_argument("--data", type=Path, required=True, help="the file, gzip or plain")
    parser.add_argument("--limit", type=int, help="number of questions, spread over the file; default: all")
    parser.add_argument("--depth", type=int, default=50, help="pieces of evidence for each question, 10 or more")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    given = parser.parse_args(arguments)
    if given.depth < 10:
        parser.error("--depth must be 10 or more, because systems are compared by recall@10")
    dataset = load_dataset(given.data, kind=given.dataset)
    with TemporaryDirectory(prefix="recollect-bench-") as folder:
        at = datetime.now(UTC)
        comparison = asyncio.run(compare(dataset, Path(folder), limit=given.limit, depth=given.depth, at=at))
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(comparison.to_json() + "\n", "utf-8")
    print(comparison.to_json() if given.json else comparison.to_table())


if __name__ == "__main__":
    main()
