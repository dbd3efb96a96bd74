"""The part of the stores' contract about triples, the validity of items, and walks along links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product
from random import Random
from typing import Protocol, cast

import pytest

from recollect.domain.changes import Changeset, Supersession
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.domain.queries import Scope
from recollect.domain.signals import Weights
from recollect.domain.time import Interval
from recollect.domain.triples import Aggregation, Comparison, Ordering, TimeFilter, Triple, TriplePattern
from recollect.domain.validity import matches_filter, validity_of
from recollect.store.capabilities import TripleReader
from recollect.store.protocol import Capability, ForgetSelection, Store
from recollect.store.stores import Stores
from recollect.testing import brute_force, triple_material
from recollect.testing.store_material import (
    DIMENSION,
    EMBEDDER,
    NOW,
    T0,
    changes_of,
    found,
    indexed,
    message,
    probe,
)
from recollect.testing.triple_material import ODD, ZONES, between, month, year

ANY = TriplePattern()
CONTEXT, SYNONYMY = (LinkKind.CONTEXT,), (LinkKind.SYNONYMY,)


class TripleStore(TripleReader, Store, Protocol):
    """A store that keeps triples and can be written."""


async def assert_as_by_hand(store: TripleStore, items: Sequence[Item], links: Sequence[Link], rng: Random) -> None:
    """Assert that one random question is answered as brute force answers it."""
    pattern, ordering = triple_material.pattern(rng), triple_material.ordering(rng)
    scope = triple_material.scope(rng, len(items))
    expected = brute_force.select_triples(items, pattern, scope, ordering)
    limit, offset = rng.choice((None, 0, 1, 3, 100)), rng.choice((0, 0, 2, 50))
    page = await store.triples(pattern, scope, ordering=ordering, limit=limit, offset=offset)
    assert page.total == len(expected)
    assert list(page.items) == expected[offset : None if limit is None else offset + limit]
    for aggregation in Aggregation:
        counted = await store.count_triples(pattern, scope, aggregation)
        assert counted == brute_force.count_triples(expected, aggregation), aggregation
    ends = rng.sample([item.id for item in items], min(3, len(items)))
    kinds = rng.choice((CONTEXT, SYNONYMY, (*CONTEXT, *SYNONYMY)))
    beside = brute_force.select_linked(items, links, ends, kinds, scope)
    assert await store.linked(ends, kinds, scope) == beside
    assert await store.linked([*ends, "unknown"], kinds, scope, limit=2) == beside[:2]


def stated(number: int, triple: Triple | None, **more: object) -> IndexedItem:
    """Return a triple, or a gist, that was read from the message of the same number."""
    entry = indexed(message(number))
    kind = ItemKind.GIST if triple is None else ItemKind.TRIPLE
    item = replace(entry.item, id=f"i{number}", kind=kind, triple=triple, **more)  # type: ignore[arg-type]
    return replace(entry, item=item)


def held_for(start: Interval | None, end: Interval | None) -> Triple:
    return Triple(subject="E1", predicate="knows", object="E2", start=start, end=end)


async def filled(store: TripleStore, entries: Sequence[IndexedItem], **more: object) -> list[Item]:
    await store.commit(changes_of([message(n) for n in range(len(entries))], items=tuple(entries), **more))
    return [entry.item for entry in entries]


async def ids_of(store: TripleStore, scope: Scope, ordering: Ordering | None = None) -> list[str]:
    return [item.id for item in (await store.triples(ANY, scope, ordering=ordering)).items]


class TriplesContract:
    """The contract of triples."""

    @pytest.fixture
    def stating(self, store: Store) -> TripleStore:
        """Return the store if it offers triples. If the store declares none, skip these tests."""
        if Capability.TRIPLES not in store.capabilities:
            pytest.skip("the store declares no triples")
        return cast(TripleStore, store)

    async def test_triples_come_back_as_they_were_given(self, stating: TripleStore) -> None:
        summer = replace(ODD_TIMES[0], start=T0.astimezone(ZONES[1]), end=T0.astimezone(ZONES[2]))
        triples = [held_for(*times) for times in ((None, None), (summer, None), (None, ODD_TIMES[1]), ODD_TIMES)]
        items = await filled(stating, [stated(n, triple) for n, triple in enumerate(triples)])
        again = await stating.items([item.id for item in items])
        assert again == items
        for one, other in zip(again, triples, strict=True):
            assert one.triple is not None
            assert [_clock(one.triple.start), _clock(one.triple.end)] == [_clock(other.start), _clock(other.end)]

    async def test_a_triple_put_again_states_what_it_states_now(self, stating: TripleStore) -> None:
        (old,) = await filled(stating, [stated(0, held_for(year(1980), year(1984)))])
        assert await ids_of(stating, Scope(when=TimeFilter(start=year(1980)))) == ["i0"]
        for triple in (replace(held_for(None, year(1970)), subject="E9"), None, old.triple):
            now = stated(0, triple)
            await stating.commit(Changeset(items=(now,)))
            expected = [] if triple is None else [now.item]
            assert list((await stating.triples(ANY, Scope())).items) == expected
            page = await stating.triples(TriplePattern(subjects=("E9",)), Scope(when=TimeFilter(end=year(1975))))
            assert page.total == (triple is not None and triple.subject == "E9")

    @pytest.mark.parametrize("seed", range(4))
    async def test_triples_and_links_agree_with_brute_force(self, stating: TripleStore, seed: int) -> None:
        rng = Random(seed)
        changes = triple_material.bank(rng, 60)
        await stating.commit(changes)
        items = [entry.item for entry in changes.items]
        for _ in range(100):
            await assert_as_by_hand(stating, items, changes.links, rng)

    async def test_every_two_operators_agree_with_brute_force(self, stating: TripleStore) -> None:
        rng = Random(5)
        changes = triple_material.bank(rng, 80)
        await stating.commit(changes)
        items = [entry.item for entry in changes.items]
        for first, second in product(Comparison, repeat=2):
            start, end = triple_material.time(rng, ZONES[0]), triple_material.time(rng, ZONES[1])
            scope = Scope(when=TimeFilter(start=start, start_operator=first, end=end, end_operator=second))
            expected = brute_force.select_triples(items, ANY, scope, None)
            assert list((await stating.triples(ANY, scope)).items) == expected, (first, second)

    async def test_a_search_keeps_to_when_items_hold(self, stating: TripleStore) -> None:
        rng = Random(6)
        changes = triple_material.bank(rng, 60)
        await stating.commit(changes)
        sizes = set()
        for _ in range(20):
            scope = Scope(when=triple_material.time_filter(rng))
            search = await stating.search(probe(), scope, Weights())
            expected = {e.item.id for e in changes.items if brute_force.is_in_scope(e.item, scope)}
            for arm in ("semantic", "lexical"):
                assert set(await found(search, arm, 100)) == expected, (arm, scope)
            sizes.add(len(expected))
        assert len(sizes) > 4

    async def test_what_overlaps_a_stretch_of_time(self, stating: TripleStore) -> None:
        """In figure 5, the start is ``le`` the end of the stretch, and the end is ``ge`` its start."""
        stretches = {
            "before": (year(1940), year(1949)),
            "touching": (year(1940), year(1950)),
            "within": (month(2, 1953), month(7, 1953)),
            "around": (year(1900), None),
            "ending": (None, year(1955)),
            "out of": (year(1960), year(1990)),
            "after": (year(1961), year(1961)),
        }
        await filled(stating, [stated(n, held_for(*times)) for n, times in enumerate(stretches.values())])
        wanted = TimeFilter(start=year(1960), start_operator=Comparison.LE, end=year(1950), end_operator=Comparison.GE)
        names = list(stretches)
        inside = [names[int(id_[1:])] for id_ in await ids_of(stating, Scope(when=wanted))]
        assert inside == ["touching", "within", "around", "ending", "out of"]

    async def test_a_year_is_the_same_in_every_zone(self, stating: TripleStore) -> None:
        (told,) = await filled(stating, [stated(0, held_for(year(1980, ZONES[1]), year(1980, ZONES[1])))])
        standing = {
            operator: await ids_of(stating, Scope(when=TimeFilter(start=year(1980), start_operator=operator)))
            for operator in Comparison
        }
        assert [operator for operator, ids in standing.items() if ids] == ["le", "eq", "ge"]
        assert matches_filter(validity_of(told), TimeFilter(start=year(1981), start_operator=Comparison.LT))
        assert await ids_of(stating, Scope(when=TimeFilter(start=year(1981), start_operator=Comparison.LT))) == ["i0"]

    async def test_the_order_of_triples_and_of_ties(self, stating: TripleStore) -> None:
        times = (
            (year(1981), year(1983)),
            (month(1, 1981), year(1982)),  # begins where 1981 does, and ends before
            (None, year(1983)),
            (year(1981), year(1983)),
            (year(1980), None),
            (month(6, 1981), month(12, 1983)),  # ends where 1983 does
        )
        await filled(stating, [stated(n, held_for(*ends)) for n, ends in enumerate(times)])
        assert await ids_of(stating, Scope()) == ["i0", "i1", "i2", "i3", "i4", "i5"]
        assert await ids_of(stating, Scope(), Ordering.ASC) == ["i2", "i4", "i1", "i0", "i3", "i5"]
        assert await ids_of(stating, Scope(), Ordering.DESC) == ["i4", "i5", "i0", "i3", "i2", "i1"]

    async def test_what_has_no_time_of_its_own_stands_where_it_was_said(self, stating: TripleStore) -> None:
        said = T0.astimezone(ZONES[1]).replace(hour=1)  # still the day before in UTC
        spoken = triple_material.date(said)
        items = await filled(
            stating, [stated(0, held_for(None, None), mentioned=said), stated(1, None, mentioned=said)]
        )
        for operator in (Comparison.EQ, Comparison.LT):
            scope = Scope(when=TimeFilter(start=spoken, start_operator=operator))
            search = await stating.search(probe(), scope, Weights())
            expected = {item.id for item in items} if operator is Comparison.EQ else set()
            assert set(await found(search, "semantic", 9)) == expected

    async def test_what_took_anothers_place_and_what_was_then(self, stating: TripleStore) -> None:
        items = await filled(stating, [stated(n, held_for(year(1980 + n), None)) for n in range(2)])
        await stating.commit(Changeset(supersedes=(Supersession(item="i0", by="i1", at=NOW),)))
        assert await ids_of(stating, Scope()) == ["i1"]
        then = Scope(as_of=NOW - timedelta(seconds=1))
        assert list((await stating.triples(ANY, then)).items) == items
        assert (await stating.items(["i0"]))[0].superseded == NOW
        assert await stating.count_triples(ANY, then, Aggregation.COUNT) == 2

    async def test_forgotten_triples_are_neither_given_nor_counted(self, stating: TripleStore) -> None:
        rng = Random(8)
        changes = triple_material.bank(rng, 60)
        await stating.commit(changes)
        await stating.forget(ForgetSelection(messages=("m1", "m5")))
        items = [e.item for e in changes.items if not {"m1", "m5"}.intersection(e.item.sources)]
        assert 0 < len(items) < 60
        for _ in range(30):
            await assert_as_by_hand(stating, items, changes.links, rng)

    async def test_triples_that_come_later_and_again_are_found(self, stating: TripleStore) -> None:
        rng = Random(9)
        changes = triple_material.bank(rng, 40)
        items = {entry.item.id: entry.item for entry in changes.items}
        await stating.commit(changes)
        later = triple_material.entry(rng, 40)
        links = [link for link in changes.links if link.source not in ("i3", "i17")]
        for entry in (later, *(triple_material.entry(rng, number) for number in (3, 17))):
            kind = items[entry.item.id].kind if entry.item.id in items else entry.item.kind
            put = replace(entry, item=replace(entry.item, kind=kind))
            await stating.commit(Changeset(items=(put,)))
            items[put.item.id] = replace(put.item, session=items.get(put.item.id, put.item).session)
        for _ in range(40):
            await assert_as_by_hand(stating, list(items.values()), links, rng)

    async def test_triples_are_in_a_dump(self, stores: Stores, stating: TripleStore) -> None:
        rng = Random(10)
        changes = triple_material.bank(rng, 50)
        await stating.commit(changes)
        copy = cast(TripleStore, await stores.open("copy", embedder=EMBEDDER, dimension=DIMENSION))
        async for part in stating.dump():
            await copy.commit(part)
        for _ in range(30):
            await assert_as_by_hand(copy, [entry.item for entry in changes.items], changes.links, rng)

    async def test_links_are_walked_both_ways_and_each_item_comes_once(self, stating: TripleStore) -> None:
        ties = (
            Link(source="i0", target="i1", kind=LinkKind.CONTEXT, weight=0.5),
            Link(source="i1", target="i0", kind=LinkKind.CONTEXT, weight=1.0),
            Link(source="i2", target="i0", kind=LinkKind.CONTEXT, weight=0.5),
            Link(source="i0", target="i3", kind=LinkKind.SYNONYMY, weight=0.9),
            Link(source="i3", target="i4", kind=LinkKind.CONTEXT, weight=0.5),
        )
        items = await filled(stating, [stated(n, None) for n in range(5)], links=ties)
        assert await stating.linked(["i0"], CONTEXT, Scope()) == [(items[1], 1.0), (items[2], 0.5)]
        assert await stating.linked(["i0", "i1"], CONTEXT, Scope()) == [(items[2], 0.5)]
        both = await stating.linked(["i3", "i0", "i0"], (*CONTEXT, *SYNONYMY), Scope(exclude=frozenset({"m2"})))
        assert both == [(items[1], 1.0), (items[4], 0.5)]
        assert await stating.linked(["unknown"], CONTEXT, Scope()) == []
        assert await stating.linked([], CONTEXT, Scope()) == []
        assert await stating.linked(["i0"], (), Scope()) == []

    async def test_an_empty_bank_has_no_triples(self, stating: TripleStore) -> None:
        page = await stating.triples(ANY, Scope(when=TimeFilter(start=year(1980))), ordering=Ordering.ASC, limit=5)
        assert (page.items, page.total) == ((), 0)
        assert [await stating.count_triples(ANY, Scope(), one) for one in Aggregation] == [0, 0, 0]
        assert await stating.linked(["i0"], CONTEXT, Scope()) == []


ODD_TIMES = (year(1930, ODD), between(year(1931, ODD).start, None))


def _clock(time: Interval | None) -> list[object]:
    """Return the clock times at which a time begins and ends, and its precision."""
    if time is None:
        return [None]
    return [one and (one.replace(tzinfo=None), one.utcoffset()) for one in (time.start, time.end)] + [time.precision]
