"""Measure one ranking against the gold places. Pure functions. Every value is in 0..1.

``ranked`` has no repetitions, because :func:`recollect_lab.evals.places.ranked` removes them. ``gold`` is not empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import log2


def compute_recall(ranked: Sequence[str], gold: AbstractSet[str], k: int) -> float:
    """Return the share of the gold places that are among the first ``k``.

    The denominator is the number of all gold places. If it is more than ``k``, the result cannot reach 1.
    """
    return len(gold & set(ranked[:k])) / len(gold)


def compute_ndcg(ranked: Sequence[str], gold: AbstractSet[str], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first ``k``. The gain is 1 for a gold place and 0 for
    others.

    The source is Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), with the usual
    discount ``1 / log2(rank + 1)``. The ideal ranking has ``min(k, len(gold))`` gold places at the top.
    """
    gain = sum(_compute_discount(rank) for rank, place in enumerate(ranked[:k], 1) if place in gold)
    return gain / sum(_compute_discount(rank) for rank in range(1, min(k, len(gold)) + 1))


def compute_reciprocal_rank(ranked: Sequence[str], gold: AbstractSet[str], k: int) -> float:
    """Return one divided by the rank of the first gold place, or 0 if none is among the first ``k``."""
    return next((1 / rank for rank, place in enumerate(ranked[:k], 1) if place in gold), 0.0)


def _compute_discount(rank: int) -> float:
    return 1 / log2(rank + 1)
