"""Format plain text in columns. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of equal length as lines. Each column is as wide as its widest cell, with two spaces between
    columns.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def format_share(value: float) -> str:
    return f"{value:.3f}"


def format_interval(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}"
