"""Vectors that can be stored and compared."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

LARGEST_NUMBER: Final = float(np.finfo(np.float16).max)
"""The largest number in a vector. A bank stores numbers of 16 bits."""


def is_storable(vectors: NDArray[np.float32]) -> bool:
    """Return true if all numbers of vectors are finite, and small enough to be stored."""
    return bool(np.abs(vectors).max(initial=0.0) <= LARGEST_NUMBER)  # false for NaN, too
