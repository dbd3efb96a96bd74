"""The port for rerankers. It has one verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores passages for a query. Only the order of the scores has a meaning (Hindsight, equation 16)."""

    @property
    def name(self) -> str: ...

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return one score for each passage, in the same order. Higher is better.

        Raises:
            ModelUnavailable: the model could not be loaded or reached.
        """
        ...
