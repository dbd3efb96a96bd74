"""Store facts that a user gives, as items of kind triple, with vectors and the entities that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect._threads import run_in_thread
from recollect.domain.changes import Changeset
from recollect.domain.facts import Fact, make_given_id
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.messages import StoredMessage
from recollect.domain.time import Interval, Precision, instant_interval
from recollect.domain.triples import Triple
from recollect.errors import InvalidInput
from recollect.models.embedder import Embedder
from recollect.retain.embed import text_to_embed
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.resolve import resolve_names
from recollect.retain.triples import PLACES, found_in, occurrences_of, text_of
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms
from recollect.text.time_expressions.spans import day_of, month_of, year_of
from recollect.text.tokens import count_all

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChanges:
    """The changes that store facts. ``ids`` are the ids of all items of the facts, new or not, in order."""

    changes: Changeset
    ids: tuple[str, ...]


class FactEncoder:
    """Derives the changes that store given facts. It calls no model except the embedder.

    Args:
        embedder: the embedder of the bank's vectors.
        names: the names that the bank knows. All objects that derive changes to the bank share them.
    """

    def __init__(self, embedder: Embedder, names: DirectoryCache | None = None) -> None:
        self._embedder, self._names = embedder, names or DirectoryCache()

    async def encode(self, facts: Sequence[Fact], *, reader: StoreReader, now: datetime) -> FactChanges:
        """Derive the changes that store facts. Facts that the bank already has are left out.

        Raises:
            InvalidInput: a source is not a message of the bank, or another fact has the same id.
            ModelUnavailable: the embedder could not be reached.
        """
        known = await reader.look_up([], [])
        messages = {one.id: one for one in await reader.messages({id_ for fact in facts for id_ in fact.sources})}
        items = [_item(fact, n, messages, now) for n, fact in enumerate(facts)]
        new = _drop_known(items, {item.id: item for item in await reader.items([item.id for item in items])})
        ids = tuple(item.id for item in items)
        if not new:
            return FactChanges(changes=Changeset(), ids=ids)
        indexed = await self._index_items(new)
        directory = await self._names.directory_at(known, reader)
        people = frozenset(await reader.speakers())
        resolution = resolve_names([*found_in(new, people)], directory)
        changes = Changeset(
            author=self._names.propose_change(resolution),
            items=tuple(indexed),
            entities=resolution.entities,
            mentions=resolution.mentions,
            merges=resolution.merges,
        )
        return FactChanges(changes=changes, ids=ids)

    async def _index_items(self, items: Sequence[Item]) -> list[IndexedItem]:
        texts = [text_to_embed(item) for item in items]
        vectors = await self._embedder.embed(texts)
        tokens = await run_in_thread(count_all, [item.text for item in items])
        return [
            IndexedItem(item=replace(item, tokens=cost), vector=vector, terms=extract_terms(text))
            for item, text, vector, cost in zip(items, texts, vectors, tokens, strict=True)
        ]


def _item(fact: Fact, n: int, messages: Mapping[str, StoredMessage], now: datetime) -> Item:
    sources = tuple(dict.fromkeys(fact.sources))
    missing = [id_ for id_ in sources if id_ not in messages]
    if missing:
        raise InvalidInput(f"the source {missing[0]!r} of a fact is not a message of this bank; retain it first")
    said = [messages[id_] for id_ in sources]
    assert fact.id is not None
    start, end = split_bounds(fact.occurred)
    triple = Triple(subject=fact.subject, predicate=fact.predicate, object=fact.object, start=start, end=end)
    return Item(
        id=make_given_id(fact.id),
        kind=ItemKind.TRIPLE,
        text=fact.text or text_of(triple),
        session=said[0].session if said else "",
        speaker=said[0].speaker if said else "",
        sources=sources,
        mentioned=fact.mentioned or max((one.at for one in said), default=now),
        recorded=now,
        order=said[0].position * PLACES + n if said else n,
        occurrences=occurrences_of(triple),
        triple=triple,
    )


def _drop_known(items: Sequence[Item], known: Mapping[str, Item]) -> list[Item]:
    """Return the items that are new, each once.

    Raises:
        InvalidInput: a fact that says something else has the same id.
    """
    new: dict[str, Item] = {}
    for item in items:
        other = known.get(item.id) or new.get(item.id)
        if other is None:
            new[item.id] = item
        elif (other.triple, other.text, other.sources) != (item.triple, item.text, item.sources):
            raise InvalidInput(f"the fact {item.id!r} exists already and says something else; use another id")
    return list(new.values())


def split_bounds(occurred: Interval | None) -> tuple[Interval | None, Interval | None]:
    """Return the start and the end of something, each as exact as its precision. ``None`` is open.

    For years, months and days, these are the first and the last year, month or day. For a range, an instant or an
    interval with an open end, they are moments. Any other interval counts as a point in time, and is both start and
    end.
    """
    if occurred is None:
        return None, None
    if occurred.precision in _UNITS:
        unit = _UNITS[occurred.precision]
        start = None if occurred.start is None else unit(occurred.start)
        return start, None if occurred.end is None else unit(_find_last_moment(occurred))
    if occurred.precision in (Precision.RANGE, Precision.INSTANT) or occurred.start is None or occurred.end is None:
        start = None if occurred.start is None else instant_interval(occurred.start)
        return start, None if occurred.end is None else instant_interval(_find_last_moment(occurred))
    return occurred, occurred


def _find_last_moment(occurred: Interval) -> datetime:
    """Return the last moment of an interval. Its end is not a part of it."""
    assert occurred.end is not None
    if occurred.end == occurred.start:
        return occurred.end
    return occurred.end - _MOMENT


def _year_around(moment: datetime) -> Interval:
    return year_of(moment.year, moment.tzinfo)


def _month_around(moment: datetime) -> Interval:
    return month_of(moment.year, moment.month, moment.tzinfo)


def _day(moment: datetime) -> Interval:
    return day_of(moment.date(), moment.tzinfo)


_UNITS = {Precision.YEAR: _year_around, Precision.MONTH: _month_around, Precision.DAY: _day}
