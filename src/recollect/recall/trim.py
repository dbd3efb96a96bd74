"""Trim evidence to a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence


def count_fitting(tokens: Sequence[int], budget: int | None) -> int:
    """Return how many of the first items fit a budget of tokens (Hindsight, equation 17).

    The first item that does not fit ends the count.
    """
    if budget is None:
        return len(tokens)
    spent = 0
    for count, cost in enumerate(tokens):
        spent += cost
        if spent > budget:
            return count
    return len(tokens)
