"""Overlapping windows over a stream of tokens: the arithmetic of E-mem's equations 3 and 4.

Tokens and windows are counted from 0: window ``i`` holds the tokens from ``i * stride`` on to before
``i * stride + length``, where ``stride`` is the length without the overlap. Nothing here looks back: what a message
does to the windows follows from how many tokens came before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Where in a message a window begins or ends: before its token ``token``, counted from 0."""

    window: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """The windows that open in a message and those that are full in it, by number."""

    opened: tuple[Edge, ...] = ()
    sealed: tuple[Edge, ...] = ()


def opened_and_sealed(before: int, tokens: int, *, length: int, stride: int) -> Crossed:
    """What a message of so many tokens does to the windows, after ``before`` tokens of the stream (equation 3).

    A window opens with its first token, and is sealed with its last: the windows that are open then hold the overlap
    that is carried over (equation 4). What this costs grows with the number of edges in the message, and nothing else.
    """
    after = before + tokens
    opened = range(begun_windows(before, stride=stride), begun_windows(after, stride=stride))
    sealed = range(_full(before, length, stride), _full(after, length, stride))
    return Crossed(
        opened=tuple(Edge(window=window, token=window * stride - before) for window in opened),
        sealed=tuple(Edge(window=window, token=window * stride + length - before) for window in sealed),
    )


def open_windows(tokens: int, *, length: int, stride: int) -> Sequence[int]:
    """The windows that are open after so many tokens: those that have begun and are not full, the lowest first."""
    return range(_full(tokens, length, stride), begun_windows(tokens, stride=stride))


def begun_windows(tokens: int, *, stride: int) -> int:
    """How many windows have begun after so many tokens."""
    return -(-tokens // stride)


def _full(tokens: int, length: int, stride: int) -> int:
    """How many windows are full."""
    return 0 if tokens < length else (tokens - length) // stride + 1
