"""Compute overlapping windows over a stream of tokens (E-mem, equations 3 and 4).

Tokens and windows count from 0. Window ``i`` holds the tokens from ``i * stride`` up to, not including, ``i * stride +
length``. ``stride`` is the length minus the overlap. Nothing here needs earlier messages: the number of tokens before a
message decides what the message does to the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEdge:
    """A place in a message where a window begins or ends: before the token ``token``, counted from 0."""

    window: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCrossings:
    """The windows that open in a message, and the windows that become full in it."""

    opened: tuple[WindowEdge, ...] = ()
    sealed: tuple[WindowEdge, ...] = ()


def find_crossings(before: int, tokens: int, *, length: int, stride: int) -> WindowCrossings:
    """Return the windows that a message of ``tokens`` tokens opens and seals, after ``before`` tokens (equation 3).

    A window opens with its first token and is sealed with its last. The windows that are then open hold the overlap
    (equation 4). The cost grows only with the number of edges in the message.
    """
    after = before + tokens
    opened = range(count_started_windows(before, stride=stride), count_started_windows(after, stride=stride))
    sealed = range(_count_full_windows(before, length, stride), _count_full_windows(after, length, stride))
    return WindowCrossings(
        opened=tuple(WindowEdge(window=window, token=window * stride - before) for window in opened),
        sealed=tuple(WindowEdge(window=window, token=window * stride + length - before) for window in sealed),
    )


def list_open_windows(tokens: int, *, length: int, stride: int) -> Sequence[int]:
    """Return the windows that are open after ``tokens`` tokens (begun and not full), the lowest first."""
    return range(_count_full_windows(tokens, length, stride), count_started_windows(tokens, stride=stride))


def count_started_windows(tokens: int, *, stride: int) -> int:
    """Return how many windows have begun after ``tokens`` tokens."""
    return -(-tokens // stride)


def _count_full_windows(tokens: int, length: int, stride: int) -> int:
    """Return how many windows are full."""
    return 0 if tokens < length else (tokens - length) // stride + 1
