"""The report of a retrieval evaluation: figures, and the facts that are needed to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from recollect_lab.datasets.dataset import PlaceUnit
from recollect_lab.reports.bootstrap import Estimate
from recollect_lab.reports.provenance import Checkout, Provenance
from recollect_lab.reports.table import align_columns, format_interval, format_share

KEPT_PLACES = 50
"""The number of places of each ranking that a row contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """The raw result of one question: the gold places, the ranking (first 50), and its scores.

    ``scores`` has the measures that apply to this question. ``error`` is the text of the error that its recall raised.
    Such a question has no ranking and scores 0. ``ms`` is the time of the recall in milliseconds.
    """

    question: str
    conversation: str
    category: str
    gold: tuple[str, ...]
    gold_sessions: tuple[str, ...]
    places: tuple[str, ...]
    sessions: tuple[str, ...]
    scores: Mapping[str, float]
    ms: float
    error: str | None = None

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run: the kind of place, the pieces of evidence to ask for, and the most questions."""

    place: PlaceUnit
    depth: int
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """Wall-clock time: sums over the run in seconds, and percentiles over successful recalls in milliseconds."""

    retain: float
    recall: float
    recall_p50_ms: float | None
    recall_p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """The number of retained messages, and the size of all banks on disk in megabytes of 10**6 bytes."""

    messages: int
    index_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCounts:
    """The numbers of conversations and questions. ``questions`` counts all in the file: those asked, and those left
    out.

    ``left_out`` counts the latter by reason. ``scored`` counts asked questions with gold places, and ``sessions_only``
    asked questions with gold sessions only. ``errors`` counts asked questions whose recall failed (scored 0).
    ``conversations`` counts those that were retained. ``bad_evidence`` counts pieces of evidence in the file that name
    no message.
    """

    conversations: int
    questions: int
    asked: int
    scored: int
    sessions_only: int
    errors: int
    left_out: Mapping[str, int]
    bad_evidence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReport:
    """Figures with their intervals, their costs, the questions that were left out, and the origin of the figures."""

    metrics: Mapping[str, Estimate]
    by_category: Mapping[str, Mapping[str, Estimate]]
    run: RunSettings
    seconds: RunTimes
    size: RunSize
    counts: QuestionCounts
    provenance: Provenance
    rows: tuple[QuestionResult, ...]

    def to_json(self) -> dict[str, object]:
        """Return the report as one JSON object, with the texts of errors. The raw rows are not in it (see
        :meth:`rows_json`).
        """
        return {
            "metrics": _dump_estimates(self.metrics),
            "by_category": {name: _dump_estimates(metrics) for name, metrics in self.by_category.items()},
            "run": asdict(self.run),
            "seconds": asdict(self.seconds),
            "size": asdict(self.size),
            "counts": asdict(self.counts),
            "errors": [{"question": row.question, "error": row.error} for row in self.rows if row.error is not None],
            "provenance": self.provenance.to_json(),
        }

    def rows_json(self) -> list[dict[str, object]]:
        """Return the raw results, one JSON object for each question, in the order of asking. JSON Lines is a good
        format for them.
        """
        return [row.to_json() for row in self.rows]

    def to_table(self) -> str:
        """Return the report as plain text: measures with their intervals, means by category, and the circumstances."""
        parts = (self._overall(), self._categories(), self._circumstances())
        return "\n\n".join(part for part in parts if part)

    def _overall(self) -> str:
        rows = [
            (name, format_share(one.mean), format_interval(one.low, one.high), str(one.n))
            for name, one in self.metrics.items()
        ]
        return align_columns([("measure", "mean", "95% interval", "n"), *rows])

    def _categories(self) -> str:
        names = tuple(self.metrics)
        rows = [
            (
                category,
                *(format_share(metrics[name].mean) if name in metrics else "-" for name in names),
                str(_max_count(metrics)),
            )
            for category, metrics in self.by_category.items()
        ]
        return align_columns([("category", *names, "n"), *rows]) if rows else ""

    def _circumstances(self) -> str:
        counts, size, seconds, origin = self.counts, self.size, self.seconds, self.provenance
        asked = f"{counts.questions} in the file, {counts.asked} asked, {counts.scored} scored on places"
        left = ", ".join(f"{reason} {count}" for reason, count in counts.left_out.items()) or "none"
        latency = f"p50 {_format_ms(seconds.recall_p50_ms)}, p95 {_format_ms(seconds.recall_p95_ms)}"
        rows = (
            ("data set", f"{origin.dataset}, sha256 {origin.checksum[:12]}, places are {self.run.place}s"),
            ("questions", asked),
            ("left out", left),
            ("errors", f"{counts.errors} (scored 0)"),
            ("banks", f"{counts.conversations}, {size.messages} messages, {size.index_mb:.1f} MB"),
            ("retain", f"{seconds.retain:.1f} s"),
            ("recall", f"{seconds.recall:.1f} s; {latency}"),
            ("recollect", f"{origin.recollect}, commit {_format_commit(origin.checkout)}, {origin.at.isoformat()}"),
        )
        return align_columns(rows)


def _format_commit(checkout: Checkout | None) -> str:
    return f"{checkout.commit[:12]}{' (dirty)' if checkout.dirty else ''}" if checkout else "unknown"


def _dump_estimates(metrics: Mapping[str, Estimate]) -> dict[str, object]:
    return {name: asdict(one) for name, one in metrics.items()}


def _max_count(metrics: Mapping[str, Estimate]) -> int:
    return max((one.n for one in metrics.values()), default=0)


def _format_ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"
