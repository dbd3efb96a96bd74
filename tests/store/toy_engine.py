"""A second engine, made of dicts: it offers the core alone, and gives its rows to the index in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import NameInUse
from recollect.domain.items import ItemKind
from recollect.domain.receipts import ForgetReceipt, Verification
from recollect.domain.time import to_micros
from recollect.domain.usage import Cost, Usage
from recollect.domain.validity import OPEN_EDGES, validity_of
from recollect.errors import BankExists, BankNotFound, InvalidInput, MessageConflict, StaleWrite
from recollect.store.capabilities import require_capabilities
from recollect.store.forget_plan import ForgetPlan
from recollect.store.index.memory import MemoryIndex
from recollect.store.index.row_batch import FOREVER, RowBatch
from recollect.store.protocol import EntityTables, Lookup, SessionEnd
from recollect.store.search import LINK_KINDS, Edges

BATCH = 7  # small, so that every bank of the suite is read in several


@dataclass
class Tables:
    """A bank at one moment. A write changes a copy and puts it in place: it is all or nothing, and a snapshot is free.

    ``items`` are those that were put, by number; ``written`` the version that each was last written at.
    """

    version: int = 0
    epoch: int = 0
    author: str = ""
    sessions: dict = field(default_factory=dict)
    messages: dict = field(default_factory=dict)
    by_id: dict = field(default_factory=dict)
    items: dict = field(default_factory=dict)
    written: dict = field(default_factory=dict)
    supersedes: dict = field(default_factory=dict)
    links: tuple = ()
    entities: dict = field(default_factory=dict)
    mentions: tuple = ()
    merges: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)

    def changed(self):
        parts = {name: copy(value) for name, value in vars(self).items()}
        return Tables(**parts | {"version": self.version + 1})

    def item(self, number):
        return self.items[number].item

    def number_of(self, id_):
        if id_ not in self.by_id:
            raise InvalidInput(f"no item {id_!r}")
        return self.by_id[id_]

    # What the index reads: this is the whole of a feed.

    def batches(self, since, upto):
        numbers = [n for n in sorted(self.items) if since < self.written[n] <= upto]
        for start in range(0, len(numbers), BATCH):
            yield self._batch(numbers[start : start + BATCH])

    def count(self, since, upto):
        return sum(since < version <= upto for version in self.written.values())

    def numbers(self, upto):
        return np.array([n for n in sorted(self.items) if self.written[n] <= upto], dtype=np.int64)

    def _batch(self, numbers):
        entries = [self.items[n] for n in numbers]
        items = [entry.item for entry in entries]
        spans = [(row, one.interval) for row, item in enumerate(items) for one in item.occurrences]
        ends = [(row, _micros(one.start, -OPEN_EDGES), _micros(one.end, OPEN_EDGES)) for row, one in spans]
        alone = (ItemKind.GIST, ItemKind.TRIPLE)
        return RowBatch(
            seqs=np.array(numbers, dtype=np.int64),
            kinds=[item.kind.value for item in items],
            sessions=[item.session for item in items],
            speakers=[item.speaker for item in items],
            orders=np.array([item.order for item in items], dtype=np.int64),
            mentioned=np.array([to_micros(item.mentioned) for item in items], dtype=np.int64),
            recorded=np.array([to_micros(item.recorded) for item in items], dtype=np.int64),
            superseded=np.array([_micros(item.superseded, FOREVER) for item in items], dtype=np.int64),
            asks=np.array([entry.asks for entry in entries], dtype=np.bool_),
            answered=np.array([item.kind in alone or len(item.sources) > 1 for item in items], dtype=np.bool_),
            vectors=np.stack([entry.vector for entry in entries]).astype(np.float32),
            terms=np.concatenate([entry.terms for entry in entries]).astype(np.uint32),
            lengths=np.array([len(entry.terms) for entry in entries], dtype=np.int32),
            spans=np.array(ends, dtype=np.int64).reshape(-1, 3),
            validity=np.array([(*validity_of(item).start, *validity_of(item).end) for item in items], dtype=np.int64),
            triple_rows=np.empty(0, dtype=np.int64),
            phrases=[],
        )


def _micros(moment, otherwise):
    return otherwise if moment is None else to_micros(moment)


class ToyStore:
    """The core of :class:`recollect.store.protocol.Store`, without a queue and without the tearing of turns."""

    capabilities = frozenset()
    losses = ()

    def __init__(self, name, embedder, dimension):
        self.name, self.embedder, self.dimension = name, embedder, dimension
        self._tables, self._ledger = Tables(), []
        self._turn = asyncio.Lock()
        self._index = MemoryIndex(self, dimension)

    # What the index asks for

    @contextmanager
    def snapshot(self):
        yield self._tables

    def load(self, numbers):
        return [(n, self._tables.item(n)) for n in numbers if n in self._tables.items]

    def ids_of(self, numbers):
        return {n: item.id for n, item in self.load(numbers)}

    def hidden_by(self, ids):
        found = ((n, entry.item) for n, entry in self._tables.items.items())
        return [n for n, item in found if item.id in ids or ids & set(item.sources)]

    def holding(self, phrases):
        wanted = [phrase.casefold() for phrase in phrases]
        found = ((n, entry.item.text.casefold()) for n, entry in self._tables.items.items())
        return [n for n, text in found if any(phrase in text for phrase in wanted)]

    def edges(self, refs):
        own, tables = set(refs.tolist()), self._tables
        both = [(tables.by_id[k.source], tables.by_id[k.target], k) for k in tables.links]
        found = [(a, b, k) for a, b, k in both if a in own] + [(b, a, k) for a, b, k in both if b in own]
        return Edges(
            origins=np.array([a for a, _, _ in found], dtype=np.int64),
            targets=np.array([b for _, b, _ in found], dtype=np.int64),
            kinds=np.array([LINK_KINDS.index(k.kind) for _, _, k in found], dtype=np.int8),
            weights=np.array([k.weight for _, _, k in found], dtype=np.float32),
        )

    # Searching

    async def speakers(self):
        return await self._index.speakers()

    async def search(self, probe, scope, weights, tiers=()):
        return await self._index.search(probe, scope, weights, tiers)

    async def nearest(self, vectors, k, floor):
        return await self._index.nearest(vectors, k, floor)

    # Reading

    async def version(self):
        return self._tables.version

    async def look_up(self, sessions, messages):
        turns = [entry.item for _, entry in sorted(self._tables.items.items()) if entry.item.kind is ItemKind.TURN]
        ends = {}
        for session in sessions:
            said = [m.position for m in self._tables.messages.values() if m.session == session]
            last = max((t for t in turns if t.session == session), key=lambda turn: turn.order, default=None)
            parts = tuple(self._tables.messages[id_] for id_ in (last.sources if last else ()))
            ends[session] = SessionEnd(messages=max(said, default=-1) + 1, last=last, last_messages=parts)
        kept = {id_: self._tables.messages[id_] for id_ in messages if id_ in self._tables.messages}
        known = {
            "author": self._tables.author,
            "session_ends": ends,
            "stored": kept,
            "recent_items": tuple(turns[:-5:-1]),
        }
        return Lookup(version=self._tables.version, **known)

    async def messages(self, ids=None):
        wanted = None if ids is None else set(ids)
        return [m for m in self._tables.messages.values() if wanted is None or m.id in wanted]

    async def messages_of(self, sessions):
        wanted = set(sessions)
        return [m for m in self._tables.messages.values() if m.session in wanted]

    async def sessions(self):
        there = {m.session for m in self._tables.messages.values()}
        found = [session for session in self._tables.sessions.values() if session.id in there]
        return sorted(found, key=lambda session: (session.started, session.id))

    async def messages_without_items(self, limit):
        read = {source for entry in self._tables.items.values() for source in entry.item.sources}
        return [m for m in self._tables.messages.values() if m.id not in read][:limit]

    async def messages_before(self, session, position, count):
        found = [m for m in self._tables.messages.values() if m.session == session and m.position < position]
        return sorted(found, key=lambda m: m.position)[max(0, len(found) - count) :] if count else []

    async def adjacent_messages(self, ids):
        near = {(one.session, one.position + step) for one in await self.messages(ids) for step in (-1, 0, 1)}
        return [m for m in self._tables.messages.values() if (m.session, m.position) in near]

    async def items(self, ids):
        return [self._tables.item(self._tables.by_id[id_]) for id_ in ids if id_ in self._tables.by_id]

    async def items_of(self, kinds, *, entity=None, superseded=False, limit=None):
        mentioning = {m.item for m in self._tables.mentions if m.entity == entity}
        found = [
            (item.mentioned, n, item)
            for n, item in self.load(list(self._tables.items))
            if item.kind in kinds
            and (superseded or item.superseded is None)
            and (entity is None or item.id in mentioning)
        ]
        return [item for _, _, item in sorted(found, key=lambda one: one[:2], reverse=True)][:limit]

    async def items_from(self, messages, kinds):
        wanted = set(messages)
        return [
            item
            for _, item in self.load(sorted(self._tables.items))
            if item.kind in kinds and item.superseded is None and wanted & set(item.sources)
        ]

    async def entities(self, ids=None):
        wanted = self._tables.entities if ids is None else set(ids)
        return [entity for id_, entity in sorted(self._tables.entities.items()) if id_ in wanted]

    async def mentions_of(self, items):
        wanted, numbers = set(items), self._tables.by_id
        found = [m for m in self._tables.mentions if m.item in wanted]
        return sorted(found, key=lambda m: (numbers[m.item], m.entity, m.surface))

    async def mentions(self, entity):
        found = [m for m in self._tables.mentions if m.entity == entity]
        return tuple(sorted(found, key=lambda m: self._tables.by_id[m.item]))

    async def recent_mentions(self, entities, limit):
        return {
            entity: tuple(dict.fromkeys(m.item for m in reversed(await self.mentions(entity))))[:limit]
            for entity in entities
        }

    async def entity_tables(self):
        tables, by_item = self._tables, {}
        for mention in tables.mentions:
            by_item.setdefault(mention.item, set()).add(mention.entity)
        pairs = {pair for there in by_item.values() for pair in combinations(sorted(there), 2)}
        aliases = Counter((m.entity, m.surface) for m in tables.mentions)
        return EntityTables(
            version=tables.version,
            entities=tuple(await self.entities()),
            aliases=tuple((*pair, count) for pair, count in aliases.items()),
            pairs=tuple(sorted(pairs)),
            undone=tuple(merge for merge in tables.merges.values() if merge.undone is not None),
        )

    async def names_in_use(self, kinds, limit=None):
        found = {}
        for number, item in self.load(sorted(self._tables.items)):
            if item.kind in kinds and item.superseded is None:
                for entity in {m.entity for m in self._tables.mentions if m.item == item.id}:
                    found.setdefault(entity, []).append(number)
        entities = self._tables.entities
        order = sorted(found, key=lambda id_: (-len(found[id_]), entities[id_].name, id_))[:limit]
        return [NameInUse(name=entities[e].name, messages=self._tables.item(found[e][0]).sources) for e in order]

    async def merges(self):
        return tuple(self._tables.merges.values())

    async def setting(self, key):
        return self._tables.settings.get(key)

    async def info(self):
        said = [m.at for m in self._tables.messages.values()]
        links = Counter(link.kind.value for link in self._tables.links)
        return BankInfo(
            name=self.name,
            messages=len(said),
            sessions=len(self._tables.sessions),
            items=len(self._tables.items),
            segments=0,
            entities=len(self._tables.entities),
            links=links.total(),
            links_by_kind=dict(links),
            first=min(said, default=None),
            last=max(said, default=None),
            embedder=self.embedder,
            dimension=self.dimension,
            size_bytes=0,
        )

    # Writing

    async def commit(self, changes):
        require_capabilities(changes, self)
        if changes.expected_version not in (None, self._tables.version):
            raise StaleWrite("the bank has changed")
        if changes.jobs or changes.settled_job:
            raise NotImplementedError("the toy has no queue")
        tables = self._tables.changed()
        tables.author = changes.author
        self._put(tables, changes)
        self._tables = tables

    async def fill(self, fill):
        if self._tables.messages or self._tables.items:
            raise InvalidInput("the bank is not empty")
        staged = ToyStore(self.name, self.embedder, self.dimension)
        staged._tables = self._tables
        before = self._tables
        await fill(staged)
        if self._tables is not before:
            raise InvalidInput("the bank is not empty any more")
        self._tables = staged._tables

    def _put(self, tables, changes):
        for session in changes.sessions:
            before = tables.sessions.get(session.id, session)
            tables.sessions[session.id] = min(before, session, key=lambda one: one.started)
        for message in changes.messages:
            if message.id in tables.messages:
                raise MessageConflict(f"the id {message.id!r} is taken")
            tables.messages[message.id] = message
        for entry in changes.items:
            tables.by_id.setdefault(entry.item.id, len(tables.by_id) + 1)
        for entry in changes.items:
            self._put_item(tables, entry)
        for entity in changes.entities:
            first = tables.entities.get(entity.id, entity).first_seen
            tables.entities[entity.id] = replace(entity, first_seen=min(first, entity.first_seen))
        for one in changes.links:
            _ = tables.number_of(one.source), tables.number_of(one.target)
        for one in changes.mentions:
            _ = tables.number_of(one.item)
        tables.links += changes.links
        tables.mentions += changes.mentions
        tables.merges.update({merge.id: merge for merge in changes.merges})
        self._set(tables, changes)

    def _set(self, tables, changes):
        for one in changes.supersedes:
            _ = one.by and tables.number_of(one.by)
            number = tables.number_of(one.item)
            tables.items[number] = replace(tables.items[number], item=replace(tables.item(number), superseded=one.at))
            tables.written[number], tables.supersedes[one.item] = tables.version, one
        for key, value in changes.settings:
            if key in ("embedder", "dimension"):
                raise InvalidInput(f"{key} is no setting of yours")
            tables.settings[key] = value

    def _put_item(self, tables, entry):
        item, number = entry.item, tables.by_id[entry.item.id]
        if entry.vector.shape != (self.dimension,) or not tables.messages.keys() >= set(item.sources):
            raise InvalidInput(f"{item.id!r} has a vector of another length, or a source that is not there")
        for origin in item.derived_from:
            tables.number_of(origin)
        tables.items[number], tables.written[number] = entry, tables.version
        tables.links = tuple(link for link in tables.links if link.source != item.id)
        tables.mentions = tuple(m for m in tables.mentions if m.item != item.id)

    async def plan_forget(self, selection):
        return ForgetPlan(version=self._tables.version)

    async def forget(self, selection, remade=None):
        """Forget whole messages and what came from them; turns are not torn."""
        tables = self._tables.changed()
        gone = {m.id for m in tables.messages.values() if m.id in selection.messages or m.session in selection.sessions}
        lost = {entry.item.id for entry in tables.items.values() if gone & set(entry.item.sources)}
        tables.messages = {id_: m for id_, m in tables.messages.items() if id_ not in gone}
        there = {m.session for m in tables.messages.values()}
        tables.sessions = {id_: session for id_, session in tables.sessions.items() if id_ in there}
        tables.items = {n: entry for n, entry in tables.items.items() if entry.item.id not in lost}
        tables.by_id = {id_: n for id_, n in tables.by_id.items() if id_ not in lost}
        tables.written = {n: version for n, version in tables.written.items() if n in tables.items}
        tables.links = tuple(k for k in tables.links if not lost & {k.source, k.target})
        tables.mentions = tuple(m for m in tables.mentions if m.item not in lost)
        tables.epoch += 1
        before, self._tables = self._tables, tables
        return ForgetReceipt(
            messages=tuple(gone),
            sessions=len(before.sessions) - len(tables.sessions),
            items=len(lost),
            links=len(before.links) - len(tables.links),
            entities=0,
            mentions=len(before.mentions) - len(tables.mentions),
            jobs=0,
            verification=Verification.VERIFIED,
            seconds=0.0,
        )

    async def record(self, entries):
        self._ledger.extend(entries)

    async def spent(self, role=None, since=None):
        wanted = (e for e in self._ledger if role in (None, e.role) and (since is None or e.at >= since))
        return sum((entry.usage for entry in wanted), Usage())

    async def costs(self):
        groups = {}
        for entry in self._ledger:
            groups.setdefault((entry.operation, entry.role, entry.model), []).append(entry)
        return [
            Cost(
                operation=operation,
                role=role,
                model=model,
                usage=sum((one.usage for one in own), Usage()),
                failed=sum(one.failed for one in own),
            )
            for (operation, role, model), own in groups.items()
        ]

    async def split_entity(self, merge, entity, moved):
        tables = self._tables.changed()
        tables.entities[entity.id] = entity
        old = {replace(mention, entity=merge.entity) for mention in moved}
        tables.mentions = (*(m for m in tables.mentions if m not in old), *moved)
        tables.merges[merge.id] = merge
        self._tables = tables

    @asynccontextmanager
    async def turn(self):
        async with self._turn:
            yield

    async def items_after(self, version):
        tables = self._tables
        return [tables.item(number) for number in sorted(tables.items) if tables.written[number] > version]

    async def replace_vectors(self, embedder, dimension, vectors, *, expected_version=None):
        given = {id_: vector for id_, vector in vectors if id_ in self._tables.by_id}
        if expected_version not in (None, self._tables.version) or len(given) != len(self._tables.items):
            raise StaleWrite("some item has no new vector, or the bank has changed")
        tables = self._tables.changed()
        for id_, vector in given.items():
            number = tables.number_of(id_)
            tables.items[number] = replace(tables.items[number], vector=vector)
        tables.epoch += 1
        self._tables, self.embedder, self.dimension = tables, embedder, dimension
        self._index = MemoryIndex(self, dimension)

    async def dump(self, *, vectors=True):
        tables = self._tables
        yield Changeset(sessions=tuple(tables.sessions.values()), entities=tuple(tables.entities.values()))
        yield Changeset(messages=tuple(tables.messages.values()))
        given, waiting = set(), [entry for _, entry in sorted(tables.items.items())]
        while waiting:
            ready = [entry for entry in waiting if given.issuperset(entry.item.derived_from)]
            given.update(entry.item.id for entry in ready)
            waiting = [entry for entry in waiting if entry.item.id not in given]
            yield Changeset(items=tuple(replace(e, item=replace(e.item, superseded=None)) for e in ready))
        yield Changeset(mentions=tables.mentions, links=tables.links, merges=tuple(tables.merges.values()))
        held_no_longer = (entry.item for entry in tables.items.values() if entry.item.superseded is not None)
        known = tables.supersedes
        supersedes = tuple(known.get(i.id, Supersession(item=i.id, at=i.superseded)) for i in held_no_longer)
        yield Changeset(supersedes=supersedes, settings=tuple(tables.settings.items()))

    async def accept_losses(self):
        pass

    async def release(self):
        pass

    async def close(self):
        pass


class ToyStores:
    """The banks of this process: :class:`recollect.store.stores.Stores` without the rules for names."""

    def __init__(self):
        self._open = {}

    async def names(self):
        return tuple(sorted(self._open))

    async def open(self, name, *, embedder, dimension, create=True):
        if not create and name not in self._open:
            raise BankNotFound(name)
        return self._open.setdefault(name, ToyStore(name, embedder, dimension))

    async def create(self, name, *, embedder, dimension, fill):
        if name in self._open:
            raise BankExists(name)
        staged = ToyStore(name, embedder, dimension)
        await fill(staged)
        if self._open.setdefault(name, staged) is not staged:
            raise BankExists(name)
        return staged

    async def drop(self, name):
        del self._open[name]

    async def banks_with_jobs(self, *, until, kinds=(), banks=None):
        return tuple(self._open)

    async def close(self):
        pass
