"""Measures of one ranking against the gold places. Pure; every value lies in 0..1.

``ranked`` has no repeats (:func:`recollect_lab.evals.places.rank_places` sees to that) and ``gold`` is not empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import log2


def compute_recall(ranked: Sequence[str], gold: AbstractSet[str], k: int) -> float:
    """The share of the gold places that is among the first ``k``.

    The denominator is all the gold, also where it is more than ``k``: then 1 cannot be reached.
    """
    return len(gold & set(ranked[:k])) / len(gold)


def compute_ndcg(ranked: Sequence[str], gold: AbstractSet[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first ``k``, with a gain of 1 for gold and 0 for the rest.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), with the usual
    ``1 / log2(rank + 1)``; the ideal ranking has ``min(k, len(gold))`` gold places at the top.
    """
    gain = sum(_compute_discount(rank) for rank, place in enumerate(ranked[:k], 1) if place in gold)
    return gain / sum(_compute_discount(rank) for rank in range(1, min(k, len(gold)) + 1))


def compute_reciprocal_rank(ranked: Sequence[str], gold: AbstractSet[str], k: int) -> float:
    """One divided by the rank of the first gold place; 0 where none is among the first ``k``."""
    return next((1 / rank for rank, place in enumerate(ranked[:k], 1) if place in gold), 0.0)


def _compute_discount(rank: int) -> float:
    return 1 / log2(rank + 1)
