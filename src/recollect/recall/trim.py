"""As much evidence as fits."""

from __future__ import annotations

from collections.abc import Sequence


def count_fitting(tokens: Sequence[int], budget: int | None) -> int:
    """How many of the first items fit a budget of tokens (Hindsight, equation 17): the first that does not ends it."""
    if budget is None:
        return len(tokens)
    spent = 0
    for count, cost in enumerate(tokens):
        spent += cost
        if spent > budget:
            return count
    return len(tokens)
