"""The plan of a forgetting: what was made both of forgotten messages and of others."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.domain.items import IndexedItem, Item
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSegment:
    """A sealed segment as it would be without the forgotten messages, and the messages that would be left in it."""

    segment: Segment
    remaining: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """The plan of a forgetting: everything that would lose only a part of its sources.

    - ``turns`` would lose some of their messages, and ``remaining`` are their other messages.
    - ``to_reread`` are messages that would stay, but would lose items that were read from them. They are read again.
      Items that were made of other items than turns do not count, because they are made again from what is read and
      from ``origins``.
    - ``origins`` are items that would stay, but would lose items that were made of them. Turns are not among them.
    - ``used_in`` are the ids of the items on which the removed opinions rested.
    - ``segments`` are sealed segments that would lose some of their messages, but not all. Their summaries are
      removed and made again. No message must be read again for that. A segment whose summary quotes a forgotten text
      is among them, even if it loses no message.
    - ``texts`` are the forgotten texts themselves.
    """

    version: int
    turns: tuple[Item, ...] = ()
    remaining: tuple[StoredMessage, ...] = ()
    to_reread: tuple[StoredMessage, ...] = ()
    origins: tuple[IndexedItem, ...] = ()
    used_in: frozenset[str] = frozenset()
    segments: tuple[SplitSegment, ...] = ()
    texts: tuple[str, ...] = field(default=(), repr=False)
