"""The constants of the recall pipeline in one frozen value, so that an ablation is one changed field."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from recollect.domain.links import LinkKind
from recollect.domain.queries import Effort
from recollect.domain.signals import Weights
from recollect.errors import InvalidInput


class Arm(StrEnum):
    """The four channels of TEMPR (section 4.2.2)."""

    SEMANTIC = "semantic"
    LEXICAL = "lexical"
    GRAPH = "graph"
    TEMPORAL = "temporal"


class Fusion(StrEnum):
    """The method that fuses rankings: by rank alone (equation 15), or by calibrated scores."""

    RRF = "rrf"
    CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBudget:
    """The search budget of an effort: candidates for each arm, and entry points and steps of the graph walk."""

    candidates: int
    entries: int
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadSettings:
    """The settings of spreading activation (equation 12), such as the decay and the multiplier of each kind of link."""

    decay: float = 0.7
    fan_out: int = 8
    frontier: int = 16
    floor: float = 0.05
    multipliers: dict[LinkKind, float] = field(
        default_factory=lambda: {
            LinkKind.CAUSAL: 1.3,
            LinkKind.ENTITY: 1.2,
            LinkKind.RELATION: 1.0,
            LinkKind.CONTEXT: 1.0,
            LinkKind.SYNONYMY: 1.0,
            LinkKind.SEMANTIC: 0.9,
            LinkKind.TEMPORAL: 0.8,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """The settings of the recall pipeline.

    ``deadline_s`` is the time limit of each arm, and ``rrf_k`` the constant of equation 15. ``read_time_deadline_s`` is
    the time limit of a model that reads a time which the rules could not read.
    """

    arms: tuple[Arm, ...] = tuple(Arm)
    fusion: Fusion = Fusion.CALIBRATED
    weights: Weights = Weights()
    rrf_k: int = 60
    deadline_s: float = 5.0
    rerank_top: int = 50
    rerank_deadline_s: float = 30.0
    read_time_deadline_s: float = 10.0
    spread: SpreadSettings = field(default_factory=SpreadSettings)
    budgets: dict[Effort, SearchBudget] = field(
        default_factory=lambda: {
            Effort.LOW: SearchBudget(candidates=64, entries=4, steps=1),
            Effort.MID: SearchBudget(candidates=200, entries=10, steps=1),
            Effort.HIGH: SearchBudget(candidates=600, entries=25, steps=3),
        }
    )


_SIGNALS = {
    Arm.SEMANTIC: ("meaning", "surroundings"),
    Arm.LEXICAL: ("exchange", "passage", "session", "phrase"),
    Arm.GRAPH: ("graph",),
    Arm.TEMPORAL: ("temporal",),
}


def select_weights(weights: Weights, arms: tuple[Arm, ...]) -> Weights:
    """Return the weights. Those of arms that do not take part are 0."""
    silent = {name: 0.0 for arm, names in _SIGNALS.items() if arm not in arms for name in names}
    return replace(weights, **silent)


def parse_arms(names: str) -> tuple[Arm, ...]:
    """Return arms from their names, which are separated by commas.

    Raises:
        InvalidInput: a name does not belong to any arm.
    """
    try:
        return tuple(Arm(name.strip()) for name in names.split(",") if name.strip())
    except ValueError as exc:
        raise InvalidInput(f"{exc}; the arms are {', '.join(Arm)}") from exc
