"""Compute overlapping windows over a stream of tokens (E-mem, equations 3 and 4).

Tokens and windows count from 0. Window ``i`` holds the tokens from ``i * stride`` up to, not including, ``i * stride +
length``. ``stride`` is the length minus the overlap. Nothing here needs earlier messages: the number of tokens before a
message decides what the message does to the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A place in a message where a window begins or ends: before the token ``token``, counted from 0."""

    window: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """The windows that open in a message, and the windows that become full in it."""

    opened: tuple[Edge, ...] = ()
    sealed: tuple[Edge, ...] = ()


def opened_and_sealed(before: int, tokens: int, *, length: int, stride: int) -> Crossed:
    """Return the windows that a message of ``tokens`` tokens opens and seals, after ``before`` tokens (equation 3).

    A window opens with its first token and is sealed with its last. The windows that are then open hold the overlap
    (equation 4). The cost grows only with the number of edges in the message.
    """
    after = before + tokens
    opened = range(begun_windows(before, stride=stride), begun_windows(after, stride=stride))
    sealed = range(_full(before, length, stride), _full(after, length, stride))
    return Crossed(
        opened=tuple(Edge(window=window, token=window * stride - before) for window in opened),
        sealed=tuple(Edge(window=window, token=window * stride + length - before) for window in sealed),
    )


def open_windows(tokens: int, *, length: int, stride: int) -> Sequence[int]:
    """Return the windows that are open after ``tokens`` tokens (begun and not full), the lowest first."""
    return range(_full(tokens, length, stride), begun_windows(tokens, stride=stride))


def begun_windows(tokens: int, *, stride: int) -> int:
    """Return how many windows have begun after ``tokens`` tokens."""
    return -(-tokens // stride)


def _full(tokens: int, length: int, stride: int) -> int:
    """Return how many windows are full."""
    return 0 if tokens < length else (tokens - length) // stride + 1
