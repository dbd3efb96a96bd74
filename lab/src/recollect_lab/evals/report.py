"""What an evaluation of retrieval gives: figures, and all that has to stand beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from recollect_lab.datasets.dataset import PlaceUnit
from recollect_lab.reports.bootstrap import Estimate
from recollect_lab.reports.provenance import Checkout, Provenance
from recollect_lab.reports.table import align_columns, format_interval, format_share

KEPT_PLACES = 50
"""How many places of each ranking are kept in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """One question's raw outcome: the gold, the ranking (first 50), and what was made of it.

    ``scores`` holds the measures this question counts for. ``error`` is the text of what its recall raised; such a
    question has no ranking and scores 0. ``ms`` is how long the recall took, in milliseconds.
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
    """How it was measured: what a place is, the pieces of evidence asked for, the most questions asked."""

    place: PlaceUnit
    depth: int
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """Wall-clock time: sums over the run in seconds; percentiles over recalls that did not fail, in milliseconds."""

    retain: float
    recall: float
    recall_p50_ms: float | None
    recall_p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """Messages retained, and what the banks took on disk (megabytes of 10**6 bytes), all banks together."""

    messages: int
    index_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCounts:
    """``questions`` are all in the file: those asked, and those left out, by reason.

    ``scored`` are the asked ones with gold places; ``sessions_only`` are asked with gold sessions alone. ``errors``
    are asked and failed (scored 0). ``conversations`` are those that were retained. ``bad_evidence`` counts pieces of
    evidence in the file that name no message.
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
    """Figures with their intervals, what they cost, what was left out, and where they come from."""

    metrics: Mapping[str, Estimate]
    by_category: Mapping[str, Mapping[str, Estimate]]
    run: RunSettings
    seconds: RunTimes
    size: RunSize
    counts: QuestionCounts
    provenance: Provenance
    rows: tuple[QuestionResult, ...]

    def to_json(self) -> dict[str, object]:
        """One JSON object; the raw rows are not in it (:meth:`rows_json`), the texts of errors are."""
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
        """The raw outcomes, one JSON object a question, in the order asked; worth keeping as JSON Lines."""
        return [row.to_json() for row in self.rows]

    def to_table(self) -> str:
        """The report as plain text: measures with their intervals, means by category, and the circumstances."""
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
