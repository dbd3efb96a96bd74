"""Compute a mean with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2_000_000  # draws in memory at a time: about 32 MB for any number of questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over ``n`` questions, and the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


def estimate_mean(values: Sequence[float], *, resamples: int = 10_000, seed: int = 0) -> Estimate:
    """Return the mean with its 95 % percentile bootstrap interval (Efron, 1979).

    Questions are drawn with replacement, each independently. Questions about one conversation are similar, and the
    interval does not take this into account. Read it as "other questions about these conversations", not as "other
    conversations".

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    sample = np.asarray(values, dtype=np.float64)
    low, high = np.percentile(_resample_means(sample, resamples, seed), [2.5, 97.5])
    return Estimate(mean=float(sample.mean()), low=float(low), high=float(high), n=len(values))


def _resample_means(sample: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(sample))
    blocks = [
        sample[draw.integers(len(sample), size=(min(rows, resamples - start), len(sample)))].mean(axis=1)
        for start in range(0, resamples, rows)
    ]
    return np.concatenate(blocks)
