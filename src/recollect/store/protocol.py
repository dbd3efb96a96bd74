"""The interface of storage: what methods may read, and what the facade and the worker may write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
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
    """The end of a session: its number of messages, and its last turn, because an answer may still join that turn.

    ``last_messages`` are the messages of that turn in their order.
    """

    messages: int = 0
    last: Item | None = None
    last_messages: tuple[StoredMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The state of a bank when it was looked up. A commit with this ``version`` fails if the bank has changed since."""

    version: int
    author: str = ""
    session_ends: dict[str, SessionEnd] = field(default_factory=dict)
    stored: dict[str, StoredMessage] = field(default_factory=dict)
    recent_items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityTables:
    """The entities of a bank in the form that entity resolution needs."""

    version: int
    entities: tuple[Entity, ...]
    aliases: tuple[tuple[str, str, int], ...]
    pairs: tuple[tuple[str, str], ...]
    undone: tuple[Merge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSelection:
    """The messages to forget: those that meet any of these conditions. ``facts`` are ids of items of given facts.

    A given fact without a source is forgotten in the same way as a message: by an entity, and by the time when it was
    mentioned.
    """

    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    during: Interval | None = None
    facts: tuple[str, ...] = ()


class Capability(StrEnum):
    """A part of the interface that a store may leave out. See :mod:`recollect.store.capabilities`."""

    SEGMENTS = "segments"
    TRIPLES = "triples"
    STATES = "states"


class StoreReader(Protocol):
    """The core interface: what every store shows of a bank to encoders, retrievers and responders.

    The readers of :mod:`recollect.store.capabilities` add what only some stores offer.
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Return the capabilities that the store offers for this bank besides the core."""
        ...

    @property
    def embedder(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def losses(self) -> tuple[str, ...]:
        """Return what is known to be missing from the bank, in words: one entry for each loss."""
        ...

    async def version(self) -> int:
        """Return the bank's version, which every write raises."""
        ...

    async def speakers(self) -> tuple[str, ...]: ...

    async def search(
        self, probe: SearchProbe, scope: Scope, weights: Weights, tiers: Sequence[Sequence[ItemKind]] = ()
    ) -> Search:
        """Open a view of the bank for one question.

        ``tiers`` are sets of kinds that have no kind in common. Each tier is ranked like a search whose scope has only
        these kinds. The kinds of the scope itself are then ignored.
        """
        ...

    async def nearest(self, vectors: NDArray[np.float32], k: int, floor: float) -> list[list[tuple[str, float]]]:
        """Return the ids and cosines of the nearest items for each vector of ``(q, dimension)``, best first.

        Each vector gets at most ``k`` items, with cosines of at least ``floor``. A store may search only its newest
        items, so that the cost of a write does not grow with the bank.
        """
        ...

    async def look_up(self, sessions: Sequence[str], messages: Sequence[str]) -> Lookup: ...

    async def entity_tables(self) -> EntityTables: ...

    async def recent_mentions(self, entities: Sequence[str], limit: int) -> dict[str, tuple[str, ...]]:
        """Return, for each entity, the ids of the last ``limit`` items that mention it, the newest first."""
        ...

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        """Return messages by id, or all messages, in the order in which they were stored."""
        ...

    async def messages_of(self, sessions: Iterable[str]) -> list[StoredMessage]:
        """Return the messages of these sessions, in the order in which they were stored."""
        ...

    async def sessions(self) -> list[Session]:
        """Return the sessions that have messages, the earliest start first.

        Sessions with the same start are sorted by name.
        """
        ...

    async def adjacent_messages(self, ids: Iterable[str]) -> list[StoredMessage]:
        """Return these messages, and the messages right before and right after each one in its session.

        Each message comes once, in the order in which they were stored.
        """
        ...

    async def messages_before(self, session: str, position: int, count: int) -> list[StoredMessage]:
        """Return the last messages of a session before a position, in order. There are at most ``count``."""
        ...

    async def find_unread(self) -> list[StoredMessage]:
        """Return the messages that were not read yet: nothing but turns and summaries was derived from them.

        Messages that a waiting or running job names are left out.
        """
        ...

    async def messages_without_items(self, limit: int) -> list[StoredMessage]:
        """Return messages from which no item was derived, in the order in which they were stored. At most ``limit``.

        There are none, unless a program of an earlier version was killed between the two. This is asked whenever a bank
        is opened, so it must be cheap. A store may check each message only once.
        """
        ...

    async def items(self, ids: Iterable[str]) -> list[Item]: ...

    async def vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of items by their ids: float32 ``(dimension,)``. Unknown items are left out."""
        ...

    async def items_of(
        self,
        kinds: Sequence[ItemKind],
        *,
        entity: str | None = None,
        superseded: bool = False,
        limit: int | None = None,
    ) -> list[Item]:
        """Return items of these kinds, the last mentioned first. With ``entity``, return only items that mention it.

        Superseded items are left out unless ``superseded`` is true.
        """
        ...

    async def items_from(self, messages: Iterable[str], kinds: Sequence[ItemKind]) -> list[Item]:
        """Return items of these kinds that came from any of these messages, in the order in which they were stored.

        Superseded items are left out.
        """
        ...

    async def entities(self, ids: Iterable[str] | None = None) -> list[Entity]:
        """Return entities by id, or all entities, in the order of their ids."""
        ...

    async def mentions_of(self, items: Iterable[str]) -> list[Mention]:
        """Return the mentions in items with these ids, in the order in which the items were stored."""
        ...

    async def names_in_use(self, kinds: Sequence[ItemKind], limit: int | None = None) -> list[NameInUse]:
        """Return the names of entities that items of these kinds mention, with their first messages.

        There are at most ``limit`` names, if it is given. The names that most items mention come first. Names with
        equal counts are in the order of their characters. The messages are the sources of the first stored item that
        mentions the entity. Superseded items do not count.
        """
        ...

    async def setting(self, key: str) -> str | None:
        """Return the last value that :attr:`Changeset.settings` gave a key, or ``None`` if the key was never set."""
        ...

    async def info(self) -> BankInfo: ...


class Store(StoreReader, Protocol):
    """A bank that can be written."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait until it is the turn of this writer among all tasks and processes, and hold it.

        No write needs the turn to be right, because ``Changeset.expected_version`` refuses what is stale. A writer that
        has the turn succeeds soon, because all others that ask for the turn wait. A process that asks again lines up
        behind the others. After a long wait, a writer goes on without the turn. The turn ends with its process.
        """
        ...

    async def commit(self, changes: Changeset) -> None:
        """Write all changes in one transaction, or none of them.

        If the task is cancelled before the transaction begins, nothing is written. Otherwise the call ends with the
        transaction.

        Raises:
            MissingCapability: the changes contain something that this store cannot keep, such as segments.
            StaleWrite: the bank has changed since ``changes.expected_version``.
            CommittedThenCancelled: the task was cancelled during the transaction, and the changes are stored
                (:mod:`recollect.store.commit_retry`).
            LostLease: the job in ``changes.settled_job`` no longer belongs to this worker.
            StoreUnavailable: the disk is full, or the file is read-only or locked.
        """
        ...

    async def fill(self, fill: Fill) -> None:
        """Fill an empty bank. All that ``fill`` writes appears in one step, when ``fill`` has returned.

        ``fill`` writes to another store, which nobody else sees. If it fails, or if the process is killed, the bank
        stays as it was.

        Raises:
            InvalidInput: the bank is not empty, perhaps only since ``fill`` began. It is unchanged.
            StoreUnavailable: the bank cannot be written. It is unchanged.
        """
        ...

    async def plan_forget(self, selection: ForgetSelection) -> ForgetPlan:
        """Return the plan of a forgetting: everything that would lose only a part of its messages or sources."""
        ...

    async def preview_forget(self, selection: ForgetSelection) -> ForgetReceipt:
        """Return the receipt that ``forget`` would have, without a check. Nothing is changed."""
        ...

    async def forget(self, selection: ForgetSelection, remade: Changeset | None = None) -> ForgetReceipt:
        """Remove messages and everything derived from them, and what quotes them although it does not cite them.

        Write ``remade``, made from turns that lose messages, in the same transaction. Links from remade items to
        removed items are left out. The jobs in ``remade`` are queued.

        Jobs about the removed messages lose these messages. They wait with the messages that are left, as if they were
        new. If such a job is running, its result is refused. A job is dropped if it has no message left, or if it
        quotes a removed message. Every other running job begins again, and its result is refused, because its prompt
        may contain removed words. All failed jobs lose the models' replies that they store, because a reply may quote
        anything.

        After the transaction, the files are cleaned of the removed words. If that is interrupted, the next process that
        opens the bank or forgets something does it.

        Raises:
            StaleWrite: the bank has changed since ``remade.expected_version``, or turns lose messages and ``remade``
                has no new versions of them.
            StoreUnavailable: the bank cannot be written. It is unchanged.
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
        """Give the worker the job of these kinds that has been due longest. Return ``None`` if no job is due.

        The job belongs to the worker until the worker settles it. After ``lease_s`` seconds without a
        :meth:`renew_lease` it can be claimed again, so that a job survives the end of its worker. It can also be
        claimed again if ``now`` shows that the clock was set back by more than ``lease_s`` since the lease was given.
        A job that ends its worker each time is dead after some attempts.

        With ``ignore_schedule``, jobs that are due later count as due, except jobs that failed and wait for their next
        attempt. Of these, a job counts as due if it has used up no attempt and it failed before ``failed_before``.
        """
        ...

    async def renew_lease(self, job: Job, now: datetime, lease_s: float) -> None:
        """Let a claimed job belong to its worker for ``lease_s`` more seconds. The bank's version stays the same.

        Raises:
            LostLease: the job no longer belongs to this worker.
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
        """Record the outcome of a claimed job.

        Without an ``error`` the job is done, and it is removed. With an ``error`` it waits until ``retry_at``. With an
        ``error`` but without ``retry_at`` it is dead. A dead job stays in the queue for inspection, with the error and
        with the model's ``reply`` that caused it. An attempt that is not ``counted`` leaves :attr:`Job.attempts` as it
        was before.

        Raises:
            LostLease: the job no longer belongs to this worker. Nothing is changed.
        """
        ...

    async def jobs(self, states: Sequence[JobState] = ()) -> list[JobRecord]:
        """Return the jobs in the queue, or only those in these states. The job that is due first comes first."""
        ...

    async def blocked_reasons(self, kinds: Sequence[str], now: datetime) -> list[str]:
        """Return the errors that keep failed jobs from being due: at most one for each of these kinds of error.

        The kind of an error is the text before its first ``": "``. If several jobs failed with the same kind of error,
        the error of the job that is due first is returned. The cost does not grow with the queue, because every write
        asks for this.
        """
        ...

    async def retry_job(self, job: str) -> None:
        """Let a dead, failed or running job wait as if it were new, and be due at once.

        A running job is taken from its worker.

        Raises:
            InvalidInput: no dead, failed or running job has this id.
        """
        ...

    async def drop_job(self, job: str) -> None:
        """Remove a job in any state from the queue. If the job is running, its result is refused.

        Raises:
            InvalidInput: no job has this id.
        """
        ...

    async def record(self, entries: Sequence[LedgerEntry]) -> None:
        """Add entries to the ledger.

        The ledger contains no words of messages, and it stays when messages are forgotten.
        """
        ...

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage:
        """Return the sum of the ledger from the moment ``since`` on, for one role or all roles."""
        ...

    async def costs(self) -> list[Cost]:
        """Return the ledger summed up by operation, role and model, and sorted by them in that order."""
        ...

    async def merges(self) -> tuple[Merge, ...]: ...

    async def mentions(self, entity: str) -> tuple[Mention, ...]: ...

    async def split_entity(self, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
        """Undo a merge: the ``moved`` mentions go to ``entity``, and ``merge`` is stored as undone."""
        ...

    async def accept_losses(self) -> None:
        """Clear :attr:`losses`: what is left is the bank from now on."""
        ...

    async def replace_vectors(
        self,
        embedder: str,
        dimension: int,
        vectors: Sequence[tuple[str, NDArray[np.float32]]],
        *,
        expected_version: int | None = None,
    ) -> None:
        """Replace the vector of every item, by id, in one transaction, and record the embedder of the new vectors.

        Vectors of items that are not in the bank are ignored.

        Raises:
            StaleWrite: the bank has changed since ``expected_version``, or an item is left without a new vector.
        """
        ...

    async def items_after(self, version: int) -> list[Item]:
        """Return the items that were written after a version of the bank, in the order in which they were stored."""
        ...

    def dump(self, *, vectors: bool = True) -> AsyncIterator[Changeset]:
        """Return the whole bank as changesets, in an order in which they can be committed.

        Without ``vectors``, a store need not read them, and those of all items may be empty.

        Jobs come last, in the state in which they were queued, whatever their state is now. The ledger is left out,
        because it belongs to the place where a bank is stored and not to the memory itself.
        """
        ...

    async def release(self) -> None:
        """Release what the bank holds open in this process, such as files and an index, unless the bank is in use.

        The next call opens it again.
        """
        ...

    async def close(self) -> None:
        """Close the bank for good. Later calls fail."""
        ...


Fill = Callable[[Store], Awaitable[None]]
"""A function that writes the contents of a new bank to a store that nobody else can see."""
