"""Spreading activation (Hindsight, equation 12), one step at a time."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.recall.settings import SpreadSettings
from recollect.store.protocol import Edges


def step(active: Mapping[int, float], edges: Edges, settings: SpreadSettings) -> dict[int, float]:
    """One step: what reaches each item is the most that any link brings it, ``A * w * decay * mu(kind)``.

    Activation never passes 1 (a multiplier above 1 favours a kind of link, it makes nothing more certain than its
    source), and what falls below the floor is dropped.
    """
    reached: dict[int, float] = {}
    walked = zip(edges.origins.tolist(), edges.targets.tolist(), edges.kinds, edges.weights.tolist(), strict=True)
    for origin, target, kind, weight in walked:
        brought = active.get(origin, 0.0) * weight * settings.decay * settings.multipliers[kind]
        if brought >= settings.floor and brought > reached.get(target, 0.0):
            reached[target] = min(brought, 1.0)
    return reached


def strongest(activation: Mapping[int, float], count: int) -> list[int]:
    """The most active items; equal ones in the order of their numbers, so that a walk can be repeated."""
    return sorted(activation, key=lambda ref: (-activation[ref], ref))[:count]


def merged(known: Mapping[int, float], reached: Mapping[int, float]) -> dict[int, float]:
    """Each item's highest activation over the steps."""
    return {ref: max(known.get(ref, 0.0), reached.get(ref, 0.0)) for ref in known.keys() | reached.keys()}
