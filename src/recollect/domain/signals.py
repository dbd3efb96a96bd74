"""The signals that rank candidates for a question."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Signals of ``n`` candidates: one float32 array of shape ``(n,)`` for each signal.

    The scales do not depend on the size of the bank. Lexical signals are BM25 scores divided by the highest score that
    the words of the question can reach, in [0, 1]. Semantic signals are cosines. ``temporal`` (equation 14) and
    ``graph`` (equation 12) are in [0, 1]. The others are 0 or 1.
    """

    exchange: NDArray[np.float32]
    """The words of an exchange: of the item and of the one before it. If the item contains its own answer, its words
    alone.
    """
    passage: NDArray[np.float32]
    """The words of the item and of three neighbours on each side."""
    session: NDArray[np.float32]
    """The words of the whole session."""
    phrase: NDArray[np.float32]
    """The item contains the question's quoted phrase."""
    meaning: NDArray[np.float32]
    """The cosine of the item."""
    surroundings: NDArray[np.float32]
    """The cosine of the item with two neighbours on each side."""
    speaker: NDArray[np.float32]
    """A person named in the question said the item."""
    dated: NDArray[np.float32]
    """The question asks for a time, and the item speaks of one."""
    asks: NDArray[np.float32]
    """The item is a question itself, and so it is probably not an answer."""
    temporal: NDArray[np.float32]
    """The item is in the time that the question asks about: half of the score for that, half for being near its
    middle.
    """
    graph: NDArray[np.float32]
    """The activation that reached the item over links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weight of each signal in the calibrated fusion. :class:`Signals` describes the signals."""

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
