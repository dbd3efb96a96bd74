"""What is known of a candidate when it is weighed against a question."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Columns over candidates, float32 of shape ``(n,)`` each, on scales that do not depend on the bank's size.

    Lexical ones are BM25 as a share of the highest score the question's words could reach, in [0, 1]; semantic ones
    are cosines; the others are 0 or 1, but for ``temporal`` (equation 14) and ``graph`` (equation 12), in [0, 1].
    """

    exchange: NDArray[np.float32]
    """Words of an exchange: of the item, and of the one before it unless the item holds its own answer."""
    passage: NDArray[np.float32]
    """Words of the item and three neighbours on each side."""
    session: NDArray[np.float32]
    """Words of the whole session."""
    phrase: NDArray[np.float32]
    """The question's quoted phrase stands in the item."""
    meaning: NDArray[np.float32]
    """Cosine of the item."""
    surroundings: NDArray[np.float32]
    """Cosine of the item with two neighbours on each side."""
    speaker: NDArray[np.float32]
    """Said by somebody the question names."""
    dated: NDArray[np.float32]
    """The question asks for a time and the item speaks of one."""
    asks: NDArray[np.float32]
    """The item is itself a question, and so rather not an answer."""
    temporal: NDArray[np.float32]
    """In the time asked about: half for that, half for being near its middle."""
    graph: NDArray[np.float32]
    """Activation that reached it over links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each signal counts in the calibrated fusion; a signal's docs are in :class:`Signals`."""

    exchange: float = 6.0
    passage: float = 4.0
    session: float = 4.0
    phrase: float = 3.0
    meaning: float = 6.0
    surroundings: float = 5.0
    speaker: float = 2.5
    dated: float = 2.0
    asks: float = -0.8
    temporal: float = 4.0
    graph: float = 1.0


SIGNAL_NAMES = tuple(field.name for field in fields(Weights))
