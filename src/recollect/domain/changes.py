"""The changes of one write, as a value that a store commits in one transaction."""

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
    """A session: the messages of one sitting."""

    id: str
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """The decision that an item is not valid from ``at`` on. ``by`` is the item that replaces it, if there is one.

    If the messages that ``by`` came from are forgotten, the item is valid again.
    """

    item: str
    by: str | None = None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """All the changes of one write. An item or entity replaces an older one with the same id.

    ``expected_version`` is the version of the bank from which the changes were derived. If the bank has changed since,
    it refuses them. ``author`` is stored with the new version, so that the author can find out later if the changes
    were committed. ``supersedes`` may name items of this changeset. ``settings`` are keys and values, and a new value
    replaces the old one.

    ``segments`` are windows that were opened or sealed. A segment replaces the older one with the same number.
    ``stream`` is the state of windowing after the changes. ``settled_job`` is the claimed job that produced the
    changes. The commit completes this job.
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
        """Return true if there is nothing to write."""
        return not any(
            getattr(self, field.name) for field in fields(self) if field.name not in ("expected_version", "author")
        )
