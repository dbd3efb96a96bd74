"""A bank as a LangGraph store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from recollect.domain.items import ItemKind
from recollect.domain.messages import Message, StoredMessage
from recollect.errors import InvalidInput
from recollect.integrations.langgraph.store_items import (
    Namespace,
    candidate_ids,
    is_below,
    item_key,
    make_search_item,
    make_store_item,
    matches_filter,
    namespace_for,
    render_value,
    select_namespaces,
    session_for,
)
from recollect.integrations.portal import AnyBank, BankPortal

ItemPlace: TypeAlias = tuple[Namespace, str]
PendingPuts: TypeAlias = dict[ItemPlace, PutOp]

_ALWAYS_FOUND = "everything that a bank keeps can be found by all its words: index={index!r} cannot be kept to"
_NO_TTL = "a bank forgets nothing by itself: a time to live cannot be kept to"


class BankStore(BaseStore):
    """A bank as a ``BaseStore``: it remembers what graphs put there, and graphs can search everything that was said.

    A namespace is a session, named by its labels with points between them. An item is a message of that session, and
    its text is the value as JSON. Messages that were retained in another way are items too, under their ids, with
    ``text``, ``speaker`` and ``at`` as their values. Putting another value retains a new message and forgets the old
    one. If that is interrupted, the new value is valid, and the next put forgets the old one. Deleting forgets.

    A search with a query is a recall over turns, with any recipe. A search without a query returns items in the order
    in which they were kept. Inside a batch, reads see the bank as it was before the puts of the batch.

    A bank of :class:`recollect.sync.Memory` works with all methods. An asynchronous bank works with ``aput``,
    ``asearch`` and the like, and with the other methods from other threads than its own.

    Args:
        bank: the bank.
        speaker: the speaker of everything that is put.
    """

    __slots__ = ("_portal", "_speaker", "_writing")

    def __init__(self, bank: AnyBank, *, speaker: str = "user") -> None:
        self._portal, self._speaker, self._writing = BankPortal(bank), speaker, asyncio.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations, and return their results in order.

        Raises:
            RecollectError: the bank belongs to the event loop of the caller; use the asynchronous methods.
            InvalidInput: a value is not JSON, or the bank cannot support an option.
            InvalidNamespaceError: a namespace is empty, or has an invalid label.
        """
        return self._portal.call_blocking(self._run_operations, list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations, and return their results in order.

        Raises:
            InvalidInput, InvalidNamespaceError: as :meth:`batch`.
        """
        return await self._portal.call_async(self._run_operations, list(ops))

    async def _run_operations(self, ops: list[Op]) -> list[Result]:
        puts: PendingPuts = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                _require_supported(op)
                puts[op.namespace, op.key] = op
        results = [await self._read_operation(op) for op in ops]
        if puts:
            async with self._writing:
                await self._write_puts(puts)
        return results

    async def _read_operation(self, op: Op) -> Result:
        match op:
            case GetOp():
                return await self._load_item(op.namespace, op.key)
            case SearchOp():
                return list(await (self._recall_matching(op) if op.query else self._list_matching(op)))
            case ListNamespacesOp():
                return select_namespaces(await self._list_namespaces(), op)
            case PutOp():
                return None
        raise ValueError(f"no operation of a store: {op!r}")

    async def _load_item(self, namespace: Namespace, key: str) -> Item | None:
        kept = (await self._load_kept_messages([(namespace, key)])).get((namespace, key))
        return make_store_item(kept[-1]) if kept else None

    async def _load_items(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return items by the ids of their messages, in the order in which the messages were kept."""
        return {message.id: make_store_item(message) for message in await self._portal.bank.messages(ids)}

    async def _list_namespaces(self) -> list[Namespace]:
        return [namespace_for(session.id) for session in await self._portal.bank.sessions()]

    async def _list_sessions_below(self, prefix: Namespace) -> list[str]:
        return [session_for(one) for one in await self._list_namespaces() if is_below(one, prefix)]

    async def _load_messages_below(self, prefix: Namespace) -> list[StoredMessage]:
        if not prefix:
            return await self._portal.bank.messages()
        return await self._portal.bank.messages_of(await self._list_sessions_below(prefix))

    async def _list_matching(self, op: SearchOp) -> list[SearchItem]:
        items = [make_store_item(message) for message in await self._load_messages_below(op.namespace_prefix)]
        meant = [one for one in items if matches_filter(one.value, op.filter or {})]
        return [make_search_item(one, None) for one in meant[op.offset : op.offset + op.limit]]

    async def _recall_matching(self, op: SearchOp) -> list[SearchItem]:
        sessions = await self._list_sessions_below(op.namespace_prefix) if op.namespace_prefix else []
        if op.namespace_prefix and not sessions:
            return []
        wanted = count = op.offset + op.limit
        while count:
            recall = await self._portal.bank.recall(
                op.query or "", limit=count, max_tokens=None, kinds=[ItemKind.TURN], sessions=sessions
            )
            scores: dict[str, float] = {}
            for one in recall.evidence:
                for source in one.sources:
                    scores.setdefault(source, one.score)
            items = await self._load_items(scores)
            found = [make_search_item(items[id_], score) for id_, score in scores.items() if id_ in items]
            meant = [one for one in found if matches_filter(one.value, op.filter or {})]
            if len(meant) >= wanted or len(recall.evidence) < count:
                return meant[op.offset : wanted]
            count *= 2
        return []

    async def _write_puts(self, puts: PendingPuts) -> None:
        """Retain the new values, one session at a time. Then forget what was deleted or has another value now."""
        kept, stale = await self._load_kept_messages(puts), list[str]()
        sessions: dict[str, list[Message]] = {}
        for (namespace, key), op in puts.items():
            held = kept.get((namespace, key), [])
            text = None if op.value is None else render_value(op.value)
            same = bool(held) and held[-1].text == text and item_key(held[-1]) is not None
            stale += [message.id for message in (held[:-1] if same else held)]
            if text is not None and not same:
                used = {message.id for message in held[-1:]}
                free = next(id_ for id_ in candidate_ids(namespace, key) if id_ not in used)
                message = Message(id=free, text=text, speaker=self._speaker)
                sessions.setdefault(session_for(namespace), []).append(message)
        new = {message.id for messages in sessions.values() for message in messages}
        await self._forget_messages([id_ for id_ in stale if id_ in new])  # left by an interrupted put
        for session, messages in sessions.items():
            await self._portal.bank.retain(messages, session=session)
        await self._forget_messages([id_ for id_ in stale if id_ not in new])

    async def _forget_messages(self, ids: list[str]) -> None:
        if ids:
            await self._portal.bank.forget(messages=ids)

    async def _load_kept_messages(self, places: Iterable[ItemPlace]) -> dict[ItemPlace, list[StoredMessage]]:
        """Return the messages that hold these items, the oldest first. The value of the last one is valid."""
        wanted = set(places)
        ids = [id_ for namespace, key in wanted for id_ in (*candidate_ids(namespace, key), key)]
        kept: dict[ItemPlace, list[StoredMessage]] = {}
        for message in await self._portal.bank.messages(ids):
            item = make_store_item(message)
            if (item.namespace, item.key) in wanted:
                kept.setdefault((item.namespace, item.key), []).append(message)
        return kept


def _require_supported(op: PutOp) -> None:
    """Raise an error if a bank cannot do what the operation asks."""
    if not op.namespace:
        raise InvalidNamespaceError("a namespace cannot be empty")
    if op.value is None:
        return
    if op.index is not None:
        raise InvalidInput(_ALWAYS_FOUND.format(index=op.index))
    if op.ttl is not None:
        raise InvalidInput(_NO_TTL)
