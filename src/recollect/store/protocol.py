"""The seam to storage: what methods may read, and what the facade and the worker may write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Changeset, Session
from recollect.domain.entities import Entity, Mention, Merge, NameInUse
from recollect.domain.items import Item, ItemKind
from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.receipts import ForgetReceipt
from recollect.domain.signals import Weights
from recollect.domain.time import Interval
from recollect.domain.usage import Cost, LedgerEntry, Usage
from recollect.store.forget_plan import ForgetPlan
from recollect.store.search import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """Where a session stands: how many messages it has, and the last turn, while an answer may still join it."""

    messages: int = 0
    last: Item | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What a bank knew when it was looked up; ``version`` makes a commit fail if it has changed since."""

    version: int
    author: str = ""
    session_ends: dict[str, SessionEnd] = field(default_factory=dict)
    stored: dict[str, StoredMessage] = field(default_factory=dict)
    recent_items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityTables:
    """A bank's entities as resolution needs them."""

    version: int
    entities: tuple[Entity, ...]
    aliases: tuple[tuple[str, str, int], ...]
    pairs: tuple[tuple[str, str], ...]
    undone: tuple[Merge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSelection:
    """What to forget: messages that meet any of these, and given facts by the ids of their items.

    A given fact without a source is forgotten as a message would be: by an entity, and by when it was mentioned.
    """

    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    during: Interval | None = None
    facts: tuple[str, ...] = ()


class Capability(StrEnum):
    """A part of the seam that a store may leave out; see :mod:`recollect.store.capabilities`."""

    SEGMENTS = "segments"
    TRIPLES = "triples"
    STATES = "states"


class StoreReader(Protocol):
    """The core: what every store lets encoders, retrievers and responders see of a bank.

    What only some stores offer are the readers of :mod:`recollect.store.capabilities`.
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the store offers of this bank beside the core."""
        ...

    @property
    def embedder(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def version(self) -> int:
        """Return the bank's version, which every write raises."""
        ...

    async def speakers(self) -> tuple[str, ...]: ...

    async def search(
        self, probe: SearchProbe, scope: Scope, weights: Weights, tiers: Sequence[Sequence[ItemKind]] = ()
    ) -> Search:
        """Open a view of the bank for one question.

        With ``tiers``, sets of kinds that have none in common, each tier is ranked as a search whose scope has these
        kinds would rank it; the kinds of the scope do not count then.
        """
        ...

    async def nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        """For each vector of ``(q, dimension)`` the ids and cosines of the nearest items, best first.

        At most ``k`` each, with cosines of at least the ``floor``. A store may look among its newest items only, so
        that what a write costs does not grow with the bank.
        """
        ...

    async def look_up(self, sessions: Sequence[str], messages: Sequence[str]) -> Lookup: ...

    async def entity_tables(self) -> EntityTables: ...

    async def recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        """For each entity the ids of the last items that mention it, the newest first."""
        ...

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        """Messages by id, or all, in the order in which they were kept."""
        ...

    async def messages_of(self, sessions: Iterable[str]) -> list[StoredMessage]:
        """The messages of these sessions, in the order in which they were kept."""
        ...

    async def sessions(self) -> list[Session]:
        """The sessions that have messages: what began first first, and what began together by name."""
        ...

    async def adjacent_messages(self, ids: Iterable[str]) -> list[StoredMessage]:
        """Return these messages, and the ones right before and right after each in its session, each once.

        They come in the order in which they were kept.
        """
        ...

    async def messages_before(self, session: str, position: int, count: int) -> list[StoredMessage]:
        """The last messages of a session before a position, in order: at most ``count``."""
        ...

    async def find_unread(self) -> list[StoredMessage]:
        """Messages from which nothing but turns and summaries came, and which no job names that waits or runs."""
        ...

    async def items(self, ids: Iterable[str]) -> list[Item]: ...

    async def vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that items were stored with, by their ids: float32 ``(dimension,)``; of unknown items none."""
        ...

    async def items_of(
        self,
        kinds: Sequence[ItemKind],
        *,
        entity: str | None = None,
        superseded: bool = False,
        limit: int | None = None,
    ) -> list[Item]:
        """Items of these kinds that mention the entity, if one is given; what was said last first.

        Superseded ones are left out unless they are asked for.
        """
        ...

    async def items_from(self, messages: Iterable[str], kinds: Sequence[ItemKind]) -> list[Item]:
        """Items of these kinds that hold and came from any of these messages, in the order in which they were kept."""
        ...

    async def entities(self, ids: Iterable[str] | None = None) -> list[Entity]:
        """Entities by id, or all, in the order of their ids."""
        ...

    async def mentions_of(self, items: Iterable[str]) -> list[Mention]:
        """What items mention, by their ids; in the order in which the items were kept."""
        ...

    async def names_in_use(self, kinds: Sequence[ItemKind], limit: int | None = None) -> list[NameInUse]:
        """Names of entities that items of these kinds mention, all or at most ``limit``, each with its first messages.

        Those that most items mention come first, and among equals they are in the order of their characters. The
        messages are those of the item that was kept first of all that mention it. What was superseded does not count.
        """
        ...

    async def setting(self, key: str) -> str | None:
        """What :attr:`Changeset.settings` last gave a key; ``None`` where nothing did."""
        ...

    async def info(self) -> BankInfo: ...


class Store(StoreReader, Protocol):
    """A bank that can be written."""

    async def commit(self, changes: Changeset) -> None:
        """Write everything in one transaction, or nothing.

        Raises:
            MissingCapability: the changes hold what this store cannot keep, segments for one.
            StaleWrite: the bank has changed since ``changes.seen``.
            LostLease: ``changes.settles`` is no longer this worker's.
            StoreUnavailable: the disk is full, the file is read-only or locked.
        """
        ...

    async def plan_forget(self, selection: ForgetSelection) -> ForgetPlan:
        """What forgetting these messages would leave without a turn, or unread."""
        ...

    async def forget(self, selection: ForgetSelection, remade: Changeset | None = None) -> ForgetReceipt:
        """Remove messages and everything derived from them, and put in what is ``remade`` of torn turns: all at once.

        Links of what is remade to what goes are left out; its jobs are queued.

        Jobs about the messages lose them, and wait with what is left, as if they were new: what comes of one that runs
        is refused. One that has no message left, or quotes one that goes, is dropped. What failed jobs keep of models'
        replies goes, whatever they are about: it may quote anything.

        The files are cleaned of the words after that. If that is cut short, the next one who opens the bank, or forgets
        something, does it.

        Raises:
            StaleWrite: the bank has changed since ``remade.seen``, or turns are torn and nothing is remade of them.
            StoreUnavailable: the bank cannot be written; it is as it was.
        """
        ...

    async def claim(
        self,
        kinds: Sequence[str],
        worker: str,
        now: datetime,
        lease_s: float,
        *,
        ignore_schedule: bool = False,
        failed_before: datetime | None = None,
    ) -> Job | None:
        """Give the worker the job of these kinds that has been due longest; ``None`` when none is due.

        It is the worker's until it settles it, and for ``lease_s`` seconds at least: after that it can be claimed
        again, so that a job outlives its worker. One that takes its worker down each time is dead in the end. In a
        ``ignore_schedule``, what is due later counts as due, but for what has failed and is to be tried later; of that,
        what has used up no attempt counts as due as well where it has ``failed_before`` a moment.
        """
        ...

    async def settle(
        self,
        job: Job,
        *,
        error: str | None = None,
        reply: str | None = None,
        retry_at: datetime | None = None,
        counted: bool = True,
        now: datetime,
    ) -> None:
        """Say what became of a claimed job.

        Without an ``error`` it is done, and gone. With one it waits until ``retry_at``; without that it is dead, and
        stays for somebody to look at, with the error and the model's ``reply`` that caused it. An attempt that is not
        ``counted`` leaves :attr:`Job.attempts` as it was before.

        Raises:
            LostLease: it is no longer this worker's; nothing is changed.
        """
        ...

    async def jobs(self, states: Sequence[JobState] = ()) -> list[JobRecord]:
        """The queue, or the jobs in these states; what is due first first."""
        ...

    async def blocked_reasons(self, kinds: Sequence[str], now: datetime) -> list[str]:
        """What keeps jobs from being due after they have failed: an error for each of these kinds, at most.

        An error's kind is what stands before its first ``": "``. Of several jobs that failed of the same, the one that
        is due first speaks for all. What this costs does not grow with the queue: it is asked with every write.
        """
        ...

    async def retry_job(self, job: str) -> None:
        """Let a job that is dead or has failed wait as if it were new, for at once; one that runs is taken away.

        Raises:
            InvalidInput: no such job has this id.
        """
        ...

    async def drop_job(self, job: str) -> None:
        """Take a job off the queue, whatever its state; what comes of one that runs is refused.

        Raises:
            InvalidInput: no job has this id.
        """
        ...

    async def record(self, entries: Sequence[LedgerEntry]) -> None:
        """Add to the ledger; it holds no words, and stays when messages are forgotten."""
        ...

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage:
        """What the ledger sums up to, of one role or all, from a moment on."""
        ...

    async def costs(self) -> list[Cost]:
        """The ledger by operation, role and model, in that order."""
        ...

    async def merges(self) -> tuple[Merge, ...]: ...

    async def mentions(self, entity: str) -> tuple[Mention, ...]: ...

    async def split_entity(self, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
        """Take a merge back: ``moved`` mentions go over to ``entity``, and ``merge`` is kept as undone."""
        ...

    async def replace_vectors(
        self,
        embedder: str,
        dimension: int,
        vectors: Sequence[tuple[str, NDArray[np.float32]]],
        *,
        expected_version: int | None = None,
    ) -> None:
        """Put other vectors in place of every item's, by id, in one transaction, and record whose they are.

        Raises:
            StaleWrite: the bank has changed since ``expected_version``, or some item is left without a new vector.
        """
        ...

    def dump(self) -> AsyncIterator[Changeset]:
        """The whole bank as changesets, in an order in which they can be committed.

        Jobs come last, and as they were when they were queued, whatever has become of them since. The ledger is left
        out: it belongs to the place where a bank is kept, not to what it remembers.
        """
        ...

    async def release(self) -> None:
        """Give back what the bank holds open in this process, such as files and an index, unless it is in use.

        The next call takes it up again.
        """
        ...

    async def close(self) -> None:
        """Close the bank for good; later calls fail."""
        ...
