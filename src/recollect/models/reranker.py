"""The seam to rerankers: one verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores passages against a query; only the order of the scores has a meaning (Hindsight, equation 16)."""

    @property
    def name(self) -> str: ...

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score a passage, in the passages' order; higher is better.

        Raises:
            ModelUnavailable: the model could not be loaded or reached.
        """
        ...
