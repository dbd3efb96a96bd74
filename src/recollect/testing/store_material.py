"""The values that the stores' contract suite writes and the questions that it asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from recollect.domain.changes import Changeset, Session
from recollect.domain.entities import Entity, EntityKind, Mention, Merge
from recollect.domain.items import IndexedItem, Item, ItemKind, Network, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.time import Interval, Precision
from recollect.store.protocol import Store
from recollect.store.search import Search

DIMENSION = 16
EMBEDDER = "contract-16"
T0 = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
NOW = datetime(2024, 6, 1, tzinfo=UTC)
CLOSE = 4e-3  # vectors are kept in half precision
WORDS = "dog shelter march hiking paris guitar novel sister garden coffee river clock".split()
NO_GRAPH = np.empty(0, dtype=np.float32)


def message(
    at: int, *, session: str = "s1", speaker: str = "Ada", text: str = "", position: int | None = None
) -> StoredMessage:
    """Return a message of a session. The number ``at`` sets its id and time, and its words if they are left out."""
    return StoredMessage(
        id=f"m{at}",
        session=session,
        position=at if position is None else position,
        speaker=speaker,
        role=Role.USER,
        text=text or f"message {at}",
        captions=(),
        at=T0 + timedelta(minutes=at),
        recorded=T0 + timedelta(minutes=at, seconds=1),
    )


def indexed(
    said: StoredMessage, *, seed: int | None = None, terms: Sequence[int] = (1, 2, 3), others: Sequence[str] = ()
) -> IndexedItem:
    """Return a turn made of one message, with a random unit vector."""
    item = Item(
        id=f"turn:{said.id}",
        kind=ItemKind.TURN,
        text=said.text,
        session=said.session,
        speaker=said.speaker,
        sources=(said.id, *others),
        mentioned=said.at,
        recorded=said.recorded,
        order=said.position,
    )
    vector = unit(int(said.id[1:]) if seed is None else seed)
    return IndexedItem(item=item, vector=vector, terms=np.array(terms, dtype=np.uint32))


def unit(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return a random vector of length 1."""
    vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    unit_vector: np.ndarray[tuple[int], np.dtype[np.float32]] = vector / np.float32(np.linalg.norm(vector))
    return unit_vector


def changes_of(said: Sequence[StoredMessage], **more: object) -> Changeset:
    """Return a changeset with messages, a turn for each, and their sessions."""
    sessions = {m.session: Session(id=m.session, started=m.at) for m in reversed(said)}
    base = Changeset(sessions=tuple(sessions.values()), messages=tuple(said), items=tuple(indexed(m) for m in said))
    return replace(base, **more)  # type: ignore[arg-type]


def probe(seed: int = 0, **more: object) -> SearchProbe:
    base = SearchProbe(topic="dog", vector=unit(seed), terms=np.array([1, 2], dtype=np.uint32))
    return replace(base, **more)  # type: ignore[arg-type]


def corpus(count: int = 90) -> Changeset:
    """Return a bank with everything: three sessions, two kinds, three speakers, times, answers, links and entities."""
    rng = np.random.default_rng(7)
    said = [
        replace(
            message(
                at,
                session=f"s{at % 3}",
                speaker=("Ada", "Ben", "Cleo")[int(rng.integers(3))],
                position=at // 3,
                text=" ".join(rng.choice(WORDS, size=6)),
            ),
            important=at % 7 == 0,
        )
        for at in range(count)
    ]
    items = [varied(indexed(m, terms=rng.integers(0, 25, size=int(rng.integers(1, 12))).tolist()), rng) for m in said]
    ids = [entry.item.id for entry in items]
    pairs = {tuple(sorted(rng.choice(count, size=2, replace=False).tolist())) for _ in range(3 * count)}
    kinds = list(LinkKind)
    links = [
        Link(source=ids[a], target=ids[b], kind=kinds[(a + b) % len(kinds)], weight=round(float(rng.uniform()), 3))
        for a, b in sorted(pairs)
    ]
    return changes_of(said, items=tuple(items), links=tuple(links), **entities_of(ids))


def varied(entry: IndexedItem, rng: np.random.Generator) -> IndexedItem:
    item = entry.item
    start = T0 + timedelta(hours=float(rng.uniform(-48, 48)))
    span = Interval(start=start, end=start + timedelta(hours=float(rng.uniform(1, 30))), precision=Precision.DAY)
    ends = ((span,), (), (replace(span, end=None), span), ())[int(rng.integers(4))]
    fact = bool(rng.integers(4) == 0)
    return replace(
        entry,
        asks=bool(rng.integers(4) == 0),
        item=replace(
            item,
            kind=ItemKind.FACT if fact else ItemKind.TURN,
            network=Network.WORLD if fact else None,
            confidence=0.5 if fact else None,
            label="event" if fact else "",
            occurrences=tuple(Occurrence(words="then", interval=end) for end in ends),
        ),
    )


def entities_of(ids: Sequence[str]) -> dict[str, object]:
    ada = Entity(id="e1", name="Ada", kind=EntityKind.PERSON, first_seen=T0, last_seen=NOW)
    paris = Entity(id="e2", name="Paris", kind=EntityKind.LOCATION, first_seen=T0, last_seen=T0)
    merge = Merge(id="g1", entity="e1", surface="A.", score=0.9, string=1.0, cooccurrence=0.5, temporal=0.5, at=NOW)
    return {
        "entities": (ada, paris),
        "mentions": (
            Mention(entity="e1", item=ids[0], surface="Ada"),
            Mention(entity="e1", item=ids[1], surface="A."),
            Mention(entity="e2", item=ids[0], surface="Paris"),
        ),
        "merges": (merge,),
    }


async def dumped(store: Store) -> list[object]:
    """Return everything that a bank dumps, as comparable values in order."""
    return [plain(value) async for part in store.dump() for value in values_of(part)]


def values_of(part: Changeset) -> list[object]:
    return [
        *part.sessions,
        *part.entities,
        *part.messages,
        *part.items,
        *part.mentions,
        *part.links,
        *part.merges,
        *part.supersedes,
        *part.settings,
    ]


def plain(value: object) -> object:
    if isinstance(value, IndexedItem):
        return value.item, value.vector.tobytes(), value.terms.tobytes(), value.asks
    return value


async def found(search: Search, arm: str, k: int) -> list[str]:
    """Return the ids of the items that an arm finds, best first."""
    hits = await getattr(search, arm)(k)
    return [item.id for _, item in await search.load(hits.refs)]


def day() -> Interval:
    return Interval(start=T0 - timedelta(hours=5), end=T0 + timedelta(minutes=40), precision=Precision.DAY)


def scopes() -> dict[str, Scope]:
    return {
        "everything": Scope(),
        "kinds": Scope(kinds=(ItemKind.FACT, ItemKind.OPINION)),
        "sessions": Scope(sessions=("s0", "s2", "unknown")),
        "speakers": Scope(speakers=("Ben",)),
        "during": Scope(during=day()),
        "as_of": Scope(as_of=T0 + timedelta(minutes=44, seconds=1)),
        "exclude": Scope(exclude=frozenset({f"m{at}" for at in range(20)} | {f"turn:m{at}" for at in range(40, 60)})),
        "nobody": Scope(speakers=("unknown",)),
    }


def broken(what: str) -> Changeset:
    good = changes_of([message(1)])
    (entry,) = good.items
    return {
        "link": replace(good, links=(Link(source="turn:m1", target="nowhere", kind=LinkKind.CAUSAL, weight=1.0),)),
        "mention": replace(good, **entities_of(["turn:m1", "nowhere"])),  # type: ignore[arg-type]
        "source": replace(good, items=(replace(entry, item=replace(entry.item, sources=("m1", "m99"))),)),
        "origin": replace(good, items=(replace(entry, item=replace(entry.item, derived_from=("nowhere",))),)),
        "vector": replace(good, items=(replace(entry, vector=np.ones(DIMENSION + 1, dtype=np.float32)),)),
    }[what]
