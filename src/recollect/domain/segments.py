"""Segments: overlapping windows over the stream of messages (E-mem, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.messages import StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A window over the messages in the order in which they were stored: an episodic context of E-mem (equation 3).

    It contains the text from token ``start`` of message ``first`` up to, not including, token ``end`` of message
    ``last``. Both are ids of messages. While the window is open, ``last`` is ``None``, and the window extends to the
    newest message. ``end`` is ``None`` if the window is open or contains its last message to the end. If the message at
    an edge is forgotten, the nearest remaining message of the window takes its place, as a whole.
    """

    number: int
    first: str
    start: int = 0
    last: str | None = None
    end: int | None = None

    @property
    def is_sealed(self) -> bool:
        """Return true if the window has reached its length. A sealed window never grows."""
        return self.last is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The state of windowing.

    ``length`` and ``overlap`` are those of the windows, in tokens. ``tokens`` counts the tokens of the stream so far,
    including those of forgotten messages. Segment ``number`` is the first window with this length and overlap. It
    begins at token ``base`` of the stream. All windows with an earlier length are sealed. ``last`` is the id of the
    last remaining message that is in a window.
    """

    length: int
    overlap: int
    base: int = 0
    number: int = 0
    tokens: int = 0
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowing:
    """The state of the windowing: the stream, if any message was windowed yet, its open windows, and the messages that
    were stored after the last windowed one, in the order in which they were stored.
    """

    stream: Stream | None = None
    windows: tuple[Segment, ...] = ()
    unsegmented: tuple[StoredMessage, ...] = ()
