"""What a write wants to change, as one value that a store commits in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from recollect.domain.entities import Entity, Mention, Merge
from recollect.domain.items import IndexedItem
from recollect.domain.jobs import Job
from recollect.domain.links import Link
from recollect.domain.messages import StoredMessage
from recollect.domain.segments import Segment, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Messages of one sitting."""

    id: str
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """An item holds no longer from ``at`` on; ``by`` is the item that took its place, if one did.

    When the messages that ``by`` came from are forgotten, the item holds again.
    """

    item: str
    by: str | None = None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """Everything one write adds. An item or entity whose id is already there takes the older one's place.

    ``expected_version`` is the bank's version that the changes were derived from; a bank that has moved on refuses
    them. ``author`` is kept with the new version, so that whoever proposed the changes can tell whether they were made.
    ``supersedes`` may name items of this very changeset. ``settings`` are keys and values; a later value takes the
    older one's place. ``segments`` are windows that were opened or sealed: a later value of a number takes the older
    one's place; ``stream`` is where windowing stands then. ``settled_job`` is the claimed job whose outcome the changes
    are: it is done when they are made.
    """

    expected_version: int | None = None
    author: str = ""

    sessions: tuple[Session, ...] = ()
    messages: tuple[StoredMessage, ...] = ()
    items: tuple[IndexedItem, ...] = ()
    links: tuple[Link, ...] = ()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    merges: tuple[Merge, ...] = ()
    jobs: tuple[Job, ...] = ()
    supersedes: tuple[Supersession, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    segments: tuple[Segment, ...] = ()
    stream: Stream | None = None
    settled_job: Job | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not any(
            getattr(self, field.name) for field in fields(self) if field.name not in ("expected_version", "author")
        )
