"""What forgetting messages would tear: what was made of them and of others."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.items import IndexedItem, Item
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSegment:
    """A sealed segment as it would be without the messages that go, and which of its messages would be left."""

    segment: Segment
    remaining: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """What a selection would tear.

    ``turns`` would lose some of their messages, and ``remaining`` are the others. ``to_reread`` are messages that would
    stay, though something else that was read from them would go: to be read again, since nothing is left of that. Items
    that were made of other items than turns do not count: they are made anew from what is read, and from ``origins``:
    the items that stay, though something that was made of them would go. Turns are none of these. ``used_in`` are the
    ids of items that an opinion rested on which would go. ``segments`` are the sealed ones that would lose some of
    their messages, but not all: their summaries go, and are made anew; no message is to be read again for that.
    """

    version: int
    turns: tuple[Item, ...] = ()
    remaining: tuple[StoredMessage, ...] = ()
    to_reread: tuple[StoredMessage, ...] = ()
    origins: tuple[IndexedItem, ...] = ()
    used_in: frozenset[str] = frozenset()
    segments: tuple[SplitSegment, ...] = ()
