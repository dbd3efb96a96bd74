"""Random banks of triples and random questions about them. Years, months, days and moments often coincide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from recollect.domain.changes import Changeset
from recollect.domain.items import IndexedItem, Item, ItemKind, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.queries import Scope
from recollect.domain.time import Interval, Precision, instant_interval
from recollect.domain.triples import Comparison, Ordering, TimeFilter, Triple, TriplePattern
from recollect.testing.store_material import T0, changes_of, indexed, message

ZONES = (UTC, timezone(timedelta(hours=5)), timezone(timedelta(hours=-9, minutes=-30)))
ODD = timezone(timedelta(minutes=19, seconds=32))  # the offset of Amsterdam until 1937
PHRASES = ("E1", "e1", "E 2", " E\t2", "Ｅ3", "E3", "STRASSE", "straße", "")
MESSAGES = 12

_FIRST_YEAR = 1980


def year(number: int, zone: timezone = UTC) -> Interval:
    """Return a year of a zone's calendar."""
    ends = (datetime(one, 1, 1, tzinfo=zone) for one in (number, number + 1))
    return Interval(start=next(ends), end=next(ends), precision=Precision.YEAR)


def month(number: int, of: int, zone: timezone = UTC) -> Interval:
    """Return a month of a year."""
    following = datetime(of + number // 12, number % 12 + 1, 1, tzinfo=zone)
    return Interval(start=datetime(of, number, 1, tzinfo=zone), end=following, precision=Precision.MONTH)


def date(moment: datetime) -> Interval:
    """Return the day of a moment."""
    begins = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return Interval(start=begins, end=begins + timedelta(days=1), precision=Precision.DAY)


def between(start: datetime | None, end: datetime | None) -> Interval:
    """Return the range from one moment to another."""
    return Interval(start=start, end=end, precision=Precision.RANGE)


def moment(rng: Random, zone: timezone) -> datetime:
    """Return one of few moments of few years. Many of them are equal, or are the start or the end of another time."""
    day = datetime(_FIRST_YEAR + rng.randrange(4), rng.choice((1, 6, 12)), rng.choice((1, 2, 30)), tzinfo=zone)
    return day + rng.choice((timedelta(), timedelta(hours=12), timedelta(microseconds=-1)))


def time(rng: Random, zone: timezone) -> Interval:
    """Return a random time, known more or less exactly, which may be open at one end."""
    one, other = sorted((moment(rng, zone), moment(rng, zone)))
    return rng.choice(
        (
            year(one.year, zone),
            year(other.year, zone),
            month(one.month, one.year, zone),
            date(one),
            date(other),
            instant_interval(one),
            between(one, one),
            between(one, other),
            between(one, None),
            between(None, other),
        )
    )


def maybe_time(rng: Random) -> Interval | None:
    return None if rng.random() < 0.3 else time(rng, rng.choice((*ZONES, ODD)))


def triple(rng: Random) -> Triple:
    """Return a random triple of few phrases. Its time is a point, a stretch or an open one, or it has no time."""
    start = maybe_time(rng)
    return Triple(
        subject=rng.choice(PHRASES),
        predicate=rng.choice(PHRASES),
        object=rng.choice(PHRASES),
        start=start,
        end=start if rng.random() < 0.3 else maybe_time(rng),
    )


def entry(rng: Random, number: int) -> IndexedItem:
    """Return a random item. Most are triples, and the others often speak of times."""
    zone = rng.choice(ZONES)
    own = triple(rng) if rng.random() < 0.7 else None
    told = rng.choice((0, 1, 4)) if own is None or rng.random() < 0.2 else 0
    recorded = T0 + timedelta(days=rng.randrange(9))
    base = indexed(message(number), terms=(1, 2, number % 5))
    item = Item(
        id=f"i{number}",
        kind=rng.choice((ItemKind.GIST, ItemKind.FACT)) if own is None else ItemKind.TRIPLE,
        text=f"words of {number}",
        session=f"s{rng.randrange(3)}",
        speaker=rng.choice(("Ada", "Ben")),
        sources=tuple(f"m{n}" for n in sorted(rng.sample(range(MESSAGES), rng.choice((1, 2))))),
        mentioned=moment(rng, zone),
        recorded=recorded,
        order=number,
        occurrences=tuple(Occurrence(words="words", interval=time(rng, zone)) for _ in range(told)),
        superseded=recorded + timedelta(days=rng.randrange(1, 5)) if rng.random() < 0.2 else None,
        triple=own,
    )
    return replace(base, item=item)


def bank(rng: Random, count: int) -> Changeset:
    """Return a bank of ``count`` items from few messages, with links between them.

    Their ids are ``i0``, ``i1``, and so on.
    """
    items = tuple(entry(rng, number) for number in range(count))
    return changes_of([message(n) for n in range(MESSAGES)], items=items, links=links(rng, [e.item.id for e in items]))


def links(rng: Random, ids: Sequence[str]) -> tuple[Link, ...]:
    """Return random links with few different weights. The same two items may have several links."""
    kinds = (LinkKind.CONTEXT, LinkKind.SYNONYMY, LinkKind.SEMANTIC)
    pairs = [rng.sample(ids, 2) for _ in range(3 * len(ids))] if len(ids) > 1 else []
    drawn = {(source, target, rng.choice(kinds)): rng.choice((0.5, 0.8125, 1.0)) for source, target in pairs}
    return tuple(Link(source=a, target=b, kind=kind, weight=weight) for (a, b, kind), weight in drawn.items())


def time_filter(rng: Random) -> TimeFilter:
    """Return a random filter with a time for the start, the end, both or neither, and with any two operators."""
    operators = tuple(Comparison)
    return TimeFilter(
        start=maybe_time(rng),
        start_operator=rng.choice(operators),
        end=maybe_time(rng),
        end_operator=rng.choice(operators),
    )


def scope(rng: Random, count: int) -> Scope:
    """Return a random scope with none, a few or all of its restrictions."""
    narrows = rng.random() * 0.6

    def some() -> bool:
        return rng.random() < narrows

    hidden = (*(f"i{n}" for n in range(count)), *(f"m{n}" for n in range(MESSAGES)))
    return Scope(
        kinds=(rng.choice((ItemKind.TRIPLE, ItemKind.GIST)), ItemKind.FACT) if some() else (),
        sessions=("s0", "s2", "unknown") if some() else (),
        speakers=("Ben",) if some() else (),
        during=time(rng, rng.choice(ZONES)) if some() else None,
        as_of=T0 + timedelta(days=rng.randrange(9)) if some() else None,
        exclude=frozenset(rng.sample(hidden, 4)) if some() else frozenset(),
        when=time_filter(rng) if rng.random() < 0.7 else None,
    )


def pattern(rng: Random) -> TriplePattern:
    """Return a random pattern, with some phrases or none in each place."""

    def phrases() -> tuple[str, ...]:
        return tuple(rng.sample((*PHRASES, "unknown"), rng.choice((0, 0, 1, 3))))

    return TriplePattern(subjects=phrases(), predicates=phrases(), objects=phrases())


def ordering(rng: Random) -> Ordering | None:
    orderings: tuple[Ordering | None, ...] = (None, *Ordering)
    return rng.choice(orderings)
