"""Fuse several rankings into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.signals import SIGNAL_NAMES, Signals, Weights
from recollect.store.search import Refs

Floats = NDArray[np.float32]


def unite_rankings(rankings: Sequence[Refs]) -> Refs:
    """Return every reference once, in the order of its first appearance."""
    joined = np.concatenate([np.empty(0, dtype=np.int64), *rankings])
    _, first = np.unique(joined, return_index=True)
    return joined[np.sort(first)]


def fuse_ranks(candidates: Refs, rankings: Sequence[Refs], k: int) -> Floats:
    """Return the scores of reciprocal rank fusion (Hindsight, equation 15): the sum of ``1 / (k + rank)``.

    Ranks are counted from 1.
    """
    place = {ref: at for at, ref in enumerate(candidates.tolist())}
    scores = np.zeros(len(candidates), dtype=np.float32)
    for ranking in rankings:
        for rank, ref in enumerate(ranking.tolist(), start=1):
            scores[place[ref]] += 1 / (k + rank)
    return scores


def weigh_signals(signals: Signals, weights: Weights) -> Floats:
    """Return the scores of calibrated fusion: the weighted sum of signals, as a share of the best possible sum.

    The scales of the signals depend neither on the bank's size nor on the other candidates. So scores of two questions
    can be compared.
    """
    most = sum(max(getattr(weights, name), 0.0) for name in SIGNAL_NAMES) or 1.0
    total = sum(getattr(weights, name) * getattr(signals, name) for name in SIGNAL_NAMES)
    return np.asarray(total / most, dtype=np.float32)
