"""Spread activation (Hindsight, equation 12), one step at a time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recollect.recall.settings import SpreadSettings
from recollect.store.search import LINK_KINDS, Edges


def spread_step(active: Mapping[int, float], edges: Edges, settings: SpreadSettings) -> dict[int, float]:
    """Return the activation after one step: for each item, the highest of its links' ``A * w * decay * mu(kind)``.

    Activation never exceeds 1. A multiplier above 1 favours a kind of link, but makes nothing more certain than its
    source. Activation below the floor is dropped.
    """
    multipliers = np.array([settings.multipliers[kind] for kind in LINK_KINDS], dtype=np.float32)
    strengths = edges.weights * multipliers[edges.kinds] * settings.decay
    reached: dict[int, float] = {}
    walked = zip(edges.origins.tolist(), edges.targets.tolist(), strengths.tolist(), strict=True)
    for origin, target, strength in walked:
        brought = active.get(origin, 0.0) * strength
        if brought >= settings.floor and brought > reached.get(target, 0.0):
            reached[target] = min(brought, 1.0)
    return reached


def select_strongest(activation: Mapping[int, float], count: int) -> list[int]:
    """Return the most active items. Equal ones are in the order of their numbers, so that a walk can be repeated."""
    return [ref for _, ref in sorted((-value, ref) for ref, value in activation.items())[:count]]


def merge_activation(known: Mapping[int, float], reached: Mapping[int, float]) -> dict[int, float]:
    """Return each item's highest activation over the steps."""
    both = dict(known)
    for ref, value in reached.items():
        if value > both.get(ref, 0.0):
            both[ref] = value
    return both
