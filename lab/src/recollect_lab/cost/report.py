"""The report on the costs of several systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from recollect_lab.reports.bootstrap import Estimate
from recollect_lab.reports.provenance import Provenance
from recollect_lab.reports.table import align_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCost:
    """Numbers of calls and tokens, of one conversation or as means over conversations."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0

    @property
    def tokens(self) -> float:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrenceReport:
    """The recurrence settings of a system, and their effect. Counts are means over conversations.

    ``recurred`` is the share of units with at least ``theta_count`` earlier units whose similarity is ``theta_sim`` or
    more (equation 5). ``merges_asked`` is the number of calls for a merge, and ``merged`` is how many of them rewrote
    an episode. ``episodes`` is the number of new episodes by reason: ``pinned`` and ``salient`` units are promoted
    without recurrence.
    """

    theta_sim: float
    theta_merge: float
    theta_count: int
    units: float
    recurred: float
    merges_asked: float
    merged: float
    episodes: Mapping[str, float]
    facts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemReport:
    """The cost of one system for a conversation.

    ``spent`` are means over the conversations. ``tokens`` is the mean of all tokens of a conversation, with its
    interval. ``by`` has the means of each operation, and ``conversations`` the cost of each conversation. ``of_eager``
    is the number of tokens divided by that of eager extraction, if eager extraction was measured too. ``problems`` are
    the failed jobs of each conversation.
    """

    spent: MeanCost
    tokens: Estimate
    by: Mapping[str, MeanCost]
    conversations: Mapping[str, MeanCost]
    of_eager: float | None
    recurrence: RecurrenceReport | None
    problems: Mapping[str, tuple[str, ...]]

    def to_json(self) -> dict[str, object]:
        return {
            "calls": self.spent.calls,
            "tokens_in": self.spent.tokens_in,
            "tokens_out": self.spent.tokens_out,
            "tokens": asdict(self.tokens),
            "of_eager": self.of_eager,
            "operations": {name: asdict(spent) for name, spent in self.by.items()},
            "conversations": {name: asdict(spent) for name, spent in self.conversations.items()},
            "recurrence": None if self.recurrence is None else asdict(self.recurrence),
            "problems": {name: list(lines) for name, lines in self.problems.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReport:
    """The reports of the systems by name, and facts about the conversations.

    ``similarities`` are quantiles, by n, of the cosine between each unit and its n-th nearest earlier unit. ``talk``
    has the mean size of a conversation.
    """

    systems: Mapping[str, SystemReport]
    similarities: Mapping[int, Mapping[str, float]]
    talk: Mapping[str, float]
    conversations: int
    provenance: Provenance

    def to_json(self) -> dict[str, object]:
        """Return the report as one JSON object."""
        return {
            "systems": {name: one.to_json() for name, one in self.systems.items()},
            "similarities": {str(n): dict(found) for n, found in self.similarities.items()},
            "conversations": self.conversations,
            "talk": dict(self.talk),
            "provenance": self.provenance.to_json(),
        }

    def to_table(self) -> str:
        """Return the report as plain text."""
        parts = (self._costs(), self._operations(), self._recurrence(), self._similarities(), self._circumstances())
        return "\n\n".join(part for part in parts if part)

    def _costs(self) -> str:
        rows = [
            (
                name,
                f"{one.spent.calls:,.0f}",
                _format_thousands(one.spent.tokens_in),
                _format_thousands(one.spent.tokens_out),
                _format_thousands(one.spent.tokens),
                "-" if one.of_eager is None else f"{one.of_eager:.3f}",
            )
            for name, one in self.systems.items()
        ]
        return align_columns([("a conversation", "calls", "tokens in", "out", "together", "of eager"), *rows])

    def _operations(self) -> str:
        rows = [
            (
                name,
                operation,
                f"{spent.calls:,.1f}",
                _format_thousands(spent.tokens_in),
                _format_thousands(spent.tokens_out),
            )
            for name, one in self.systems.items()
            for operation, spent in one.by.items()
        ]
        return align_columns([("system", "operation", "calls", "tokens in", "out"), *rows]) if rows else ""

    def _recurrence(self) -> str:
        rows = [
            (
                name,
                f"{one.theta_sim:.2f}",
                f"{one.theta_merge:.2f}",
                str(one.theta_count),
                f"{one.recurred:.1%}",
                f"{one.merged:.1f} of {one.merges_asked:.1f}",
                ", ".join(f"{count:.1f} {reason}" for reason, count in one.episodes.items()) or "none",
                f"{one.facts:.1f}",
            )
            for name, one in ((name, system.recurrence) for name, system in self.systems.items())
            if one is not None
        ]
        head = ("system", "theta_sim", "theta_merge", "theta_count", "recurred", "merged", "episodes", "facts")
        return align_columns([head, *rows]) if rows else ""

    def _similarities(self) -> str:
        names = next((tuple(found) for found in self.similarities.values() if found), ())
        rows = [(str(n), *(f"{found[name]:.3f}" for name in names)) for n, found in self.similarities.items() if found]
        return align_columns([("cosine to the n-th nearest earlier unit", *names), *rows]) if rows else ""

    def _circumstances(self) -> str:
        origin, talk = self.provenance, self.talk
        at = origin.checkout
        commit = f"{at.commit[:12]}{' (dirty)' if at.dirty else ''}" if at else "unknown"
        problems = sum(len(lines) for one in self.systems.values() for lines in one.problems.values())
        rows = (
            ("data set", f"{origin.dataset}, sha256 {origin.checksum[:12]}, {self.conversations} conversations"),
            (
                "talk",
                f"{talk['messages']:.0f} messages, {talk['units']:.0f} units, "
                f"{_format_thousands(talk['tokens'])} tokens, means",
            ),
            ("replies", "a stub's, of the lengths that papers and recordings tell"),
            ("problems", str(problems)),
            ("recollect", f"{origin.recollect}, commit {commit}, {origin.at.isoformat()}"),
        )
        return align_columns(rows)


def _format_thousands(tokens: float) -> str:
    """Return a number of tokens in thousands."""
    return f"{tokens / 1000:,.1f}K"
