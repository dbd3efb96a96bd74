"""The report of a run: exact match by type and by shape, calls, times, and the origin of the figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.machine import quantile
from recollect_lab.reports.table import align_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question, the answer with the tools (``told``), and the answer from one retrieval (``single``).

    ``seconds`` is the time of the answer with the tools.
    """

    graph: int
    shape: str
    type: str
    text: str
    answer: str
    told: str
    calls: int
    seconds: float
    single: str

    @property
    def right(self) -> bool:
        return self.told == self.answer

    @property
    def right_at_once(self) -> bool:
        return self.single == self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """The time of a run by its parts: making timelines, retaining, asking with the tools, the baseline, and the
    total.
    """

    making: float
    retaining: float
    asking: float
    one_retrieval: float
    in_all: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A row for each question, in the order of asking. ``triples`` is the number of ``facts`` that the tools count."""

    rows: Sequence[Row]
    graphs: int
    facts: int
    triples: int
    seconds: Seconds
    provenance: Mapping[str, object]

    def to_json(self) -> str:
        return json.dumps(
            {
                "questions": len(self.rows),
                "exact_match": self._shares(lambda row: row.type, lambda row: row.right),
                "exact_match_by_shape": self._shares(lambda row: row.shape, lambda row: row.right),
                "calls_a_question": {name: _mean(row.calls for row in rows) for name, rows in self._by_type()},
                "one_retrieval": {
                    "exact_match": self._shares(lambda row: row.type, lambda row: row.right_at_once),
                    "exact_match_by_shape": self._shares(lambda row: row.shape, lambda row: row.right_at_once),
                },
                "misses": [
                    {"graph": row.graph, "type": row.type, "question": row.text, "answer": row.answer, "told": row.told}
                    for row in self.rows
                    if not row.right
                ],
                "graphs": self.graphs,
                "facts": self.facts,
                "triples": self.triples,
                **self._speed(),
                "provenance": self.provenance,
            },
            indent=2,
        )

    def to_table(self) -> str:
        """Return a table with a line for each type and one for all: exact match in both ways, and calls for a
        question.
        """
        header = ("type", "questions", "exact match", "one retrieval", "calls")
        return align_columns([header, *(_line(name, rows) for name, rows in self._by_type())])

    def _by_type(self) -> list[tuple[str, list[Row]]]:
        return self._by(lambda row: row.type)

    def _by(self, key: Callable[[Row], str]) -> list[tuple[str, list[Row]]]:
        """Return the rows in groups by a key, and a group of all rows."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(key(row), []).append(row)
        return [*groups.items(), ("all", list(self.rows))]

    def _shares(self, key: Callable[[Row], str], right: Callable[[Row], bool]) -> dict[str, float]:
        return {name: _mean(map(right, rows)) for name, rows in self._by(key)}

    def _speed(self) -> dict[str, object]:
        times = [row.seconds * 1000 for row in self.rows]
        spent = self.seconds
        return {
            "questions_per_s": round(len(self.rows) / spent.asking, 1),
            "question_p50_ms": round(quantile(times, 0.5), 2),
            "question_p95_ms": round(quantile(times, 0.95), 2),
            "facts_retained_per_s": round(self.facts / spent.retaining, 1),
            "seconds": {name: round(getattr(spent, name), 2) for name in Seconds.__slots__},
        }


def _line(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    ours, single = (fmean(one) for one in ([row.right for row in rows], [row.right_at_once for row in rows]))
    return name, str(len(rows)), f"{ours:.1%}", f"{single:.1%}", f"{fmean(row.calls for row in rows):.2f}"


def _mean(values: Iterable[float]) -> float:
    return round(fmean(values), 5)
