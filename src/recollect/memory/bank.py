"""One bank: what an agent talks to."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Changeset
from recollect.domain.entities import Merge
from recollect.domain.items import ItemKind
from recollect.domain.messages import Message, StoredMessage
from recollect.domain.queries import Effort, Query, Scope
from recollect.domain.recalls import Recall
from recollect.domain.receipts import ForgetReceipt, RetainReceipt
from recollect.domain.time import Interval
from recollect.errors import InvalidInput, NaiveDatetime, StaleWrite
from recollect.memory.merges import undo_merge
from recollect.memory.rebuild import reembed
from recollect.memory.transfer import export_lines, import_lines
from recollect.models.embedder import Embedder
from recollect.ports import Retriever
from recollect.retain.encode import TurnEncoder
from recollect.store.protocol import Selection, Store

Clock = Callable[[], datetime]
E = TypeVar("E", Effort, ItemKind)

_ATTEMPTS = 50


class Bank:
    """A bank of memories. Open it with :meth:`recollect.Memory.bank`.

    It is safe for the tasks of one event loop, and for other processes that have the same bank open.

    Args:
        store: where it is kept.
        encoder, retriever: of its recipe.
        embedder: whose vectors it holds, or shall hold after :meth:`rebuild`.
        clock: gives the aware present.
    """

    def __init__(
        self, store: Store, *, encoder: TurnEncoder, retriever: Retriever, embedder: Embedder, clock: Clock
    ) -> None:
        self._store, self._encoder, self._retriever = store, encoder, retriever
        self._embedder, self._clock = embedder, clock
        self._writing = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._store.name

    def works_on(self, store: Store) -> bool:
        """Whether this is the store it was opened with; a bank that was dropped and made anew has another."""
        return self._store is store

    async def retain(self, messages: Message | Iterable[Message], *, session: str | None = None) -> RetainReceipt:
        """Store messages of one session, verbatim, and make them findable. All of them, or on an error none.

        A message with an id that the bank has already, with the same words, is skipped. Where ``session`` is left
        out, it is named after the day of the first message.

        Raises:
            InvalidInput: an empty session name.
            MessageConflict: an id is taken by a message with other words.
            StoreUnavailable: the disk is full, or the bank cannot be written.
        """
        given = [messages] if isinstance(messages, Message) else list(messages)
        began, now = time.perf_counter(), self._clock()
        name = _session_name(given, session, now)

        async def derive() -> Changeset:
            return await self._encoder.encode(given, session=name, reader=self._store, now=now)

        changes = await self._commit(derive) if given else Changeset()
        return RetainReceipt(
            session=name,
            messages=tuple(message.id for message in changes.messages),
            skipped=len(given) - len(changes.messages),
            items=len(changes.items),
            links=len(changes.links),
            entities=len(changes.entities),
            merges=len(changes.merges),
            jobs=len(changes.jobs),
            seconds=time.perf_counter() - began,
        )

    async def recall(
        self,
        text: str,
        *,
        limit: int = 20,
        max_tokens: int | None = 4096,
        effort: Effort | str = Effort.MID,
        kinds: Sequence[ItemKind | str] = (),
        sessions: str | Iterable[str] = (),
        speakers: str | Iterable[str] = (),
        during: Interval | None = None,
        as_of: datetime | None = None,
        exclude: str | Iterable[str] = (),
        now: datetime | None = None,
    ) -> Recall:
        """Find what the bank holds on a question.

        Args:
            text: the question, or any words.
            limit: at most so many items.
            max_tokens: at most so many tokens of evidence together; ``None`` for no bound.
            effort: how hard to look.
            kinds, sessions, speakers: only these; empty for all.
            during: only what was said in, or speaks of, that time.
            as_of: answer with what was recorded by then.
            exclude: ids of items or messages that must not come back.
            now: the present that "last week" in the question is read against; the clock's where left out.

        Raises:
            InvalidInput: a bound is not positive, an effort or kind is unknown, a time is naive.
            RecallFailed: nothing that should have looked could.
        """
        query = Query(
            text=text,
            now=_aware("now", now) or self._clock(),
            limit=_positive("limit", limit),
            max_tokens=None if max_tokens is None else _positive("max_tokens", max_tokens),
            effort=_one_of(Effort, effort),
            scope=Scope(
                kinds=tuple(_one_of(ItemKind, kind) for kind in _names(kinds)),
                sessions=_names(sessions),
                speakers=_names(speakers),
                during=during,
                as_of=_aware("as_of", as_of),
                exclude=frozenset(_names(exclude)),
            ),
        )
        return await self._retriever.retrieve(query, self._store)

    async def forget(
        self,
        *,
        messages: str | Iterable[str] = (),
        session: str | Iterable[str] = (),
        speaker: str | Iterable[str] = (),
        entity: str | Iterable[str] = (),
        during: Interval | None = None,
    ) -> ForgetReceipt:
        """Remove every message that meets any of these, with everything derived from it, and check that it is gone.

        ``messages`` by id; ``session`` and ``speaker`` by name; ``entity`` by id, name or any surface form: every
        message of an item that mentions it, and every message that holds one of its names word for word; ``during``
        by when it was said. What shared a turn with a forgotten
        message is kept, and encoded anew.

        Raises:
            InvalidInput: nothing was selected.
            StoreUnavailable: the bank cannot be written.
        """
        selection = Selection(
            messages=_names(messages),
            sessions=_names(session),
            speakers=_names(speaker),
            entities=_names(entity),
            during=during,
        )
        if selection == Selection():
            raise InvalidInput("forget needs to be told what: messages, session, speaker, entity or during")
        async with self._writing:
            receipt, orphans = await self._store.forget(selection)
        if orphans:
            await self._commit(lambda: self._encode_again(orphans))
        return receipt

    async def messages(self, ids: Iterable[str] | None = None) -> list[StoredMessage]:
        """Messages as they were given, by id, or all, in the order in which they were kept."""
        return await self._store.messages(ids)

    async def merges(self) -> tuple[Merge, ...]:
        """Every decision that a name means an entity known by another, with its scores; undone ones too."""
        return await self._store.merges()

    async def undo_merge(self, merge: str) -> Merge:
        """Take a merge back by its id: the name gets an entity of its own, and is never merged there again.

        Raises:
            InvalidInput: there is no such merge, or it has been undone.
        """
        async with self._writing:
            return await undo_merge(self._store, merge, self._clock())

    async def info(self) -> BankInfo:
        """The bank in numbers."""
        return await self._store.info()

    def export(self) -> AsyncIterator[str]:
        """The whole bank as JSON Lines: the raw log and everything derived, vectors included."""
        return export_lines(self._store)

    async def import_(self, lines: Iterable[str]) -> BankInfo:
        """Take in what :meth:`export` gave, into an empty bank.

        Raises:
            InvalidInput: the bank is not empty, or the lines are no export.
            MalformedLine: a line is damaged; what came before it is kept.
        """
        async with self._writing:
            await import_lines(self._store, lines, self._embedder)
        return await self._store.info()

    async def rebuild(self) -> BankInfo:
        """Embed every item anew with the configured embedder; nothing else is touched."""
        async with self._writing:
            await reembed(self._store, self._embedder)
        return await self._store.info()

    async def _encode_again(self, messages: Sequence[StoredMessage]) -> Changeset:
        return await self._encoder.encode_again(messages, reader=self._store)

    async def _commit(self, derive: Callable[[], Awaitable[Changeset]]) -> Changeset:
        """Derive and commit; derive again when another process was faster.

        Raises:
            StaleWrite: others kept being faster.
        """
        async with self._writing:
            for attempt in range(_ATTEMPTS):
                changes = await derive()
                if not (changes.messages or changes.items):
                    return changes
                try:
                    await self._store.commit(changes)
                except StaleWrite:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    await asyncio.sleep(random.uniform(0, 0.01 * (attempt + 1)))
                else:
                    return changes
        raise AssertionError("unreachable")


def _session_name(messages: Sequence[Message], session: str | None, now: datetime) -> str:
    if session is not None:
        if not session.strip():
            raise InvalidInput("a session's name cannot be blank; leave it out to have it named after the day")
        return session
    first = messages[0].at if messages else None
    return (first or now).date().isoformat()


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise InvalidInput(f"{name} is {value}; it must be at least 1")
    return value


def _aware(name: str, moment: datetime | None) -> datetime | None:
    if moment is not None and moment.utcoffset() is None:
        raise NaiveDatetime(name)
    return moment


def _one_of(kind: type[E], name: str) -> E:
    try:
        return kind(name)
    except ValueError as exc:
        raise InvalidInput(f"{name!r} is no {kind.__name__}; there are: {', '.join(kind)}") from exc
