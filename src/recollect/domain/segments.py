"""Segments: overlapping windows over the stream of messages (E-mem, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A window over the messages in the order in which they were kept: one of E-mem's episodic contexts (equation 3).

    It holds what stands from token ``start`` of message ``first`` on to before token ``end`` of message ``last``, both
    ids of messages. ``last`` is ``None`` while it is open and goes as far as the messages do; ``end`` is ``None`` as
    well where it holds the whole of its last message. Where the message at an edge was forgotten, the nearest one that
    is left in it stands there, whole.
    """

    number: int
    first: str
    start: int = 0
    last: str | None = None
    end: int | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether it has reached its length: what it holds never grows again."""
        return self.last is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Where windowing stands.

    ``length`` and ``overlap`` are those of its windows, in tokens; ``tokens`` is how many the stream has had so far,
    those of forgotten messages included. Segment ``number`` is the first window of this length and overlap, and begins
    at token ``base`` of the stream; windows of an earlier length are all sealed. ``last`` is the id of the last message
    that was windowed, of those that are left.
    """

    length: int
    overlap: int
    base: int = 0
    number: int = 0
    tokens: int = 0
    last: str | None = None
