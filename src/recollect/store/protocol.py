"""The seam to storage: what methods may read, and what the facade and the worker may write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Changeset
from recollect.domain.entities import Entity, Mention, Merge
from recollect.domain.items import Item
from recollect.domain.jobs import Job
from recollect.domain.links import LinkKind
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Probe, Scope
from recollect.domain.receipts import ForgetReceipt
from recollect.domain.signals import Signals, Weights
from recollect.domain.time import Interval

Refs = NDArray[np.int64]
Floats = NDArray[np.float32]

LINK_KINDS = tuple(LinkKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What an arm found: references to items, best first, and its scores; both of shape ``(n,)``."""

    refs: Refs
    scores: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Links as they are walked, one way each: from, to (references), kind and weight, all of shape ``(n,)``.

    ``kinds`` are places in :data:`LINK_KINDS`, int8.
    """

    origins: Refs
    targets: Refs
    kinds: NDArray[np.int8]
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """Where a session stands: how many messages it has, and the last turn, while an answer may still join it."""

    messages: int = 0
    last: Item | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a bank knew when it was looked up; ``version`` makes a commit fail if it has changed since."""

    version: int
    author: str = ""
    ends: dict[str, SessionEnd] = field(default_factory=dict)
    kept: dict[str, StoredMessage] = field(default_factory=dict)
    recent: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityTables:
    """A bank's entities as resolution needs them."""

    version: int
    entities: tuple[Entity, ...]
    aliases: tuple[tuple[str, str, int], ...]
    pairs: tuple[tuple[str, str], ...]
    undone: tuple[Merge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to forget: messages that meet any of these."""

    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    during: Interval | None = None


class Search(Protocol):
    """One question's view of a bank. Every method keeps to the scope it was opened with."""

    async def semantic(self, k: int) -> Hits: ...

    async def lexical(self, k: int) -> Hits: ...

    async def temporal(self, k: int) -> Hits: ...

    async def edges(self, refs: Refs, limit: int) -> Edges:
        """Links of items, the ``limit`` heaviest of each, both ends in scope."""
        ...

    async def within_time(self, refs: Refs) -> NDArray[np.bool_]:
        """Which items overlap the time asked about (equation 13)."""
        ...

    async def signals(self, refs: Refs, graph: Floats) -> Signals: ...

    async def load(self, refs: Refs) -> list[tuple[int, Item]]:
        """References and items in that order; items that are gone meanwhile are left out."""
        ...


class StoreReader(Protocol):
    """What encoders, retrievers and responders may see of a bank."""

    @property
    def name(self) -> str: ...

    @property
    def embedder(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def speakers(self) -> tuple[str, ...]: ...

    async def search(self, probe: Probe, scope: Scope, weights: Weights) -> Search: ...

    async def nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        """For each vector of ``(q, dimension)`` the ids and cosines of the nearest items, best first.

        At most ``k`` each, with cosines of at least the ``floor``. A store may look among its newest items only, so
        that what a write costs does not grow with the bank.
        """
        ...

    async def known(self, sessions: Sequence[str], messages: Sequence[str]) -> Known: ...

    async def entity_tables(self) -> EntityTables: ...

    async def recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        """For each entity the ids of the last items that mention it, the newest first."""
        ...

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        """Messages by id, or all, in the order in which they were kept."""
        ...

    async def items(self, ids: Iterable[str]) -> list[Item]: ...

    async def info(self) -> BankInfo: ...


class Store(StoreReader, Protocol):
    """A bank that can be written."""

    async def commit(self, changes: Changeset) -> None:
        """Write everything in one transaction, or nothing.

        Raises:
            StaleWrite: the bank has changed since ``changes.seen``.
            StoreUnavailable: the disk is full, the file is read-only or locked.
        """
        ...

    async def forget(self, selection: Selection) -> tuple[ForgetReceipt, list[StoredMessage]]:
        """Remove messages and everything derived from them; gives what is left without a turn, to be encoded anew."""
        ...

    async def claim(self, kinds: Sequence[str], worker: str, now: datetime, lease_s: float) -> Job | None: ...

    async def settle(self, job: Job, *, error: str | None, now: datetime) -> None: ...

    async def merges(self) -> tuple[Merge, ...]: ...

    async def mentions(self, entity: str) -> tuple[Mention, ...]: ...

    async def split(self, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
        """Take a merge back: ``moved`` mentions go over to ``entity``, and ``merge`` is kept as undone."""
        ...

    async def replace_vectors(
        self,
        embedder: str,
        dimension: int,
        vectors: Sequence[tuple[str, NDArray[np.float32]]],
        *,
        seen: int | None = None,
    ) -> None:
        """Put other vectors in place of every item's, by id, in one transaction, and record whose they are.

        Raises:
            StaleWrite: the bank has changed since ``seen``, or some item is left without a new vector.
        """
        ...

    def dump(self) -> AsyncIterator[Changeset]:
        """The whole bank as changesets, in an order in which they can be committed."""
        ...

    async def close(self) -> None: ...
