"""What a write wants to change, as one value that a store commits in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.domain.entities import Entity, Mention, Merge
from recollect.domain.items import IndexedItem
from recollect.domain.jobs import Job
from recollect.domain.links import Link
from recollect.domain.messages import StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Messages of one sitting."""

    id: str
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """Everything one write adds. An item or entity whose id is already there takes the older one's place.

    ``seen`` is the bank's version that the changes were derived from; a bank that has moved on refuses them.
    ``author`` is kept with the new version, so that whoever proposed the changes can tell whether they were made.
    """

    seen: int | None = None
    author: str = ""

    sessions: tuple[Session, ...] = ()
    messages: tuple[StoredMessage, ...] = ()
    items: tuple[IndexedItem, ...] = ()
    links: tuple[Link, ...] = ()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    merges: tuple[Merge, ...] = ()
    jobs: tuple[Job, ...] = ()
