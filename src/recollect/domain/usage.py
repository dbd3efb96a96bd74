"""The cost of model calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Calls, tokens and seconds of model calls. Two usages can be added."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """An entry in a bank's ledger: an operation, the role and the model of its call, and the cost."""

    at: datetime
    operation: str
    role: str
    model: str
    usage: Usage
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The total cost of one operation's calls to one model in one role. ``failed`` counts the entries that failed."""

    operation: str
    role: str
    model: str
    usage: Usage
    failed: int
