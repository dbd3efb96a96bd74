"""What a scenario is given, and what it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, Self


class Broken(StrEnum):
    """The ways in which a promise can be broken.

    - ``lost``: what was acknowledged is not readable afterwards, or an operation took effect in part.
    - ``left``: what was forgotten, with a verified receipt, is still in a file of the bank or in a derived text.
    - ``stuck``: something did not end within its bound, or a job neither ends nor dies.
    - ``tracebacks``: an exception outside the tree of ``RecollectError``, or a traceback on standard error.
    - ``unexplained``: anything else that the plain model of the bank did not expect, such as a refusal.
    """

    LOST = "lost"
    LEFT = "left"
    STUCK = "stuck"
    TRACEBACKS = "tracebacks"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A broken promise. ``seed`` is the seed of the round, which repeats the same operations."""

    broken: Broken
    seed: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The number of kills and of operations that a scenario is to make. It may make a few more operations."""

    kills: int = 0
    operations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The result of a scenario. ``details`` are further counts, such as the operations that a kill interrupted."""

    kills: int = 0
    operations: int = 0
    findings: tuple[Finding, ...] = ()
    details: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Self) -> Tally:
        return Tally(
            kills=self.kills + other.kills,
            operations=self.operations + other.operations,
            findings=self.findings + other.findings,
            details=Counter(self.details) + Counter(other.details),
        )

    def count(self, broken: Broken) -> int:
        """Return how often a promise was broken in this way."""
        return sum(finding.broken is broken for finding in self.findings)


class Scenario(Protocol):
    """One kind of attack. The same seed and budget make the same operations. The moments of the kills differ."""

    @property
    def name(self) -> str: ...

    @property
    def share(self) -> Budget:
        """Return the scenario's part of 100 kills and of 100 operations."""
        ...

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        """Attack in an empty folder. The calling process has one thread, so that the scenario may fork it."""
        ...
