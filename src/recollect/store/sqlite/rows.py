"""Convert between rows and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from recollect.domain.changes import Session
from recollect.domain.entities import Entity, EntityKind, Merge
from recollect.domain.items import Item, ItemKind, ItemStage, Network, Occurrence
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.time import Interval, Precision, from_micros, to_micros
from recollect.domain.triples import Triple
from recollect.errors import NotABank, RecollectError

Row = Sequence[Any]
P = ParamSpec("P")
T = TypeVar("T")

_MICROSECOND = timedelta(microseconds=1)


def reports_damage(decode: Callable[P, T]) -> Callable[P, T]:
    """Return the decoder with an error for rows that it cannot decode.

    Such rows were damaged. SQLite has no checksums, so the damage may only be noticed here.
    """

    @wraps(decode)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return decode(*args, **kwargs)
        except RecollectError:
            raise
        except (ValueError, TypeError, KeyError, OverflowError) as exc:
            raise NotABank(f"the bank is damaged: one of its rows cannot be read ({exc})") from exc

    return checked


def utc_offset_minutes(moment: datetime) -> int:
    """Return the distance of the moment's zone from UTC in minutes."""
    offset = moment.utcoffset()
    return 0 if offset is None else round(offset.total_seconds() / 60)


def read_moment(micros: int, offset: int) -> datetime:
    """Return the moment in the zone in which it was given."""
    moment = from_micros(micros)
    return moment.astimezone(timezone(timedelta(minutes=offset))) if offset else moment


@reports_damage
def read_message(row: Row) -> StoredMessage:
    id_, session, position, speaker, role, text, captions, at, at_offset, recorded, important = row
    return StoredMessage(
        id=id_,
        session=session,
        position=position,
        speaker=speaker,
        role=Role(role),
        text=text,
        captions=tuple(json.loads(captions)),
        at=read_moment(at, at_offset),
        recorded=from_micros(recorded),
        important=bool(important),
    )


def make_message_row(message: StoredMessage) -> Row:
    return (
        message.id,
        message.session,
        message.position,
        message.speaker,
        message.role.value,
        message.text,
        json.dumps(message.captions, ensure_ascii=False) if message.captions else "[]",
        to_micros(message.at),
        utc_offset_minutes(message.at),
        to_micros(message.recorded),
        int(message.important),
    )


@reports_damage
def read_session(row: Row) -> Session:
    id_, started, offset = row
    return Session(id=id_, started=read_moment(started, offset))


@reports_damage
def read_item(row: Row) -> Item:
    _, id_, kind, text, session, speaker, order, mentioned, offset, recorded, network, *rest = row[:15]
    confidence, tokens, superseded, label = rest
    stages, sources, derived, occurrences = ([] if cell == "[]" else json.loads(cell) for cell in row[15:19])
    return Item(
        id=id_,
        kind=ItemKind(kind),
        text=text,
        session=session,
        speaker=speaker,
        sources=tuple(sources),
        mentioned=read_moment(mentioned, offset),
        recorded=from_micros(recorded),
        order=order,
        occurrences=tuple(read_occurrence(cells) for cells in occurrences),
        derived_from=tuple(derived),
        network=None if network is None else Network(network),
        confidence=confidence,
        tokens=tokens,
        superseded=None if superseded is None else from_micros(superseded),
        stages=tuple(_read_stage(cells) for cells in stages),
        label=label,
        triple=None if row[19] is None else _read_triple(row[19:]),
    )


def make_item_row(item: Item, version: int) -> Row:
    return (
        item.id,
        version,
        item.kind.value,
        item.text,
        item.session,
        item.speaker,
        item.order,
        to_micros(item.mentioned),
        utc_offset_minutes(item.mentioned),
        to_micros(item.recorded),
        None if item.network is None else item.network.value,
        item.confidence,
        item.tokens,
        None if item.superseded is None else to_micros(item.superseded),
        item.label,
        json.dumps([(to_micros(s.until), s.sources, s.characters, s.tokens) for s in item.stages]),
    )


def _read_stage(cells: Row) -> ItemStage:
    until, sources, characters, tokens = cells
    return ItemStage(until=from_micros(until), sources=sources, characters=characters, tokens=tokens)


def read_occurrence(cells: Row) -> Occurrence:
    words, starts, ends, offset, precision = cells
    interval = Interval(
        start=None if starts is None else read_moment(starts, offset),
        end=None if ends is None else read_moment(ends, offset),
        precision=Precision(precision),
    )
    return Occurrence(words=words, interval=interval)


def make_occurrence_row(item: int, n: int, occurrence: Occurrence) -> Row:
    start, end = occurrence.interval.start, occurrence.interval.end
    return (
        item,
        n,
        occurrence.words,
        None if start is None else to_micros(start),
        None if end is None else to_micros(end),
        next(utc_offset_minutes(moment) for moment in (start, end) if moment is not None),
        occurrence.interval.precision.value,
    )


def _read_triple(cells: Row) -> Triple:
    subject, predicate, object_ = cells[:3]
    start, end = _read_interval(cells[3:8]), _read_interval(cells[8:])
    return Triple(subject=subject, predicate=predicate, object=object_, start=start, end=end)


def make_triple_row(item: int, triple: Triple) -> Row:
    times = _make_interval_cells(triple.start), _make_interval_cells(triple.end)
    return (item, triple.subject, triple.predicate, triple.object, *times[0], *times[1])


def _read_interval(cells: Row) -> Interval | None:
    start, start_zone, end, end_zone, precision = cells
    if precision is None:
        return None
    start, end = _read_local_moment(start, start_zone), _read_local_moment(end, end_zone)
    return Interval(start=start, end=end, precision=Precision(precision))


def _make_interval_cells(interval: Interval | None) -> Row:
    if interval is None:
        return None, None, None, None, None
    return (*_make_calendar_cells(interval.start), *_make_calendar_cells(interval.end), interval.precision.value)


def _read_local_moment(micros: int | None, zone: int) -> datetime | None:
    """Return the moment on a calendar at this distance from UTC."""
    if micros is None:
        return None
    moment = from_micros(micros - zone)
    return moment.astimezone(timezone(timedelta(microseconds=zone))) if zone else moment


def _make_calendar_cells(moment: datetime | None) -> tuple[int | None, int | None]:
    """Return microseconds since 1970 on the calendar in which a moment was given, and its distance from UTC."""
    if moment is None:
        return None, None
    return to_micros(moment.replace(tzinfo=UTC)), (moment.utcoffset() or timedelta()) // _MICROSECOND


@reports_damage
def read_entity(row: Row) -> Entity:
    id_, name, kind, first_seen, last_seen = row
    return Entity(
        id=id_,
        name=name,
        kind=EntityKind(kind),
        first_seen=from_micros(first_seen),
        last_seen=from_micros(last_seen),
    )


def make_entity_row(entity: Entity) -> Row:
    return (entity.id, entity.name, entity.kind.value, to_micros(entity.first_seen), to_micros(entity.last_seen))


@reports_damage
def read_merge(row: Row) -> Merge:
    id_, entity, surface, score, string, cooccurrence, temporal, at, undone = row
    return Merge(
        id=id_,
        entity=entity,
        surface=surface,
        score=score,
        string=string,
        cooccurrence=cooccurrence,
        temporal=temporal,
        at=from_micros(at),
        undone=None if undone is None else from_micros(undone),
    )


def make_merge_row(merge: Merge) -> Row:
    return (
        merge.id,
        merge.entity,
        merge.surface,
        merge.score,
        merge.string,
        merge.cooccurrence,
        merge.temporal,
        to_micros(merge.at),
        None if merge.undone is None else to_micros(merge.undone),
    )
