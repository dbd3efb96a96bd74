"""Weaving into a bank: equations 2 to 5 by hand over a real store, their bounds, and what is left out."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from weaving import NOON, Directions, dumped, kept_fact, opened, retain, said, woven

from recollect.domain.changes import Changeset, Supersession
from recollect.domain.entities import EntityKind
from recollect.domain.items import ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.queries import Scope, SearchProbe
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, Precision
from recollect.retain.embed import text_to_embed
from recollect.retain.index_items import find_moment
from recollect.retain.link import LinkSettings
from recollect.text.terms import extract_terms
from recollect.text.tokens import count_tokens

ALIKE = Directions(one=(1, 0), two=(0.8, 0.6), three=(0.6, -0.8), four=(0, 1))


def day(number):
    start = datetime(2024, 3, number, tzinfo=UTC)
    return Interval(start=start, end=start + timedelta(days=1), precision=Precision.DAY)


def told(changes, kind):
    links = (link for link in changes.links if link.kind is kind)
    return sorted((link.source, link.target, pytest.approx(link.weight, abs=1e-6)) for link in links)


@pytest.fixture
async def store():
    async with opened(ALIKE) as store:
        await retain(store, [said("one hello", "m1")], embedder=ALIKE)
        yield store


async def put(store, *items, **more):
    changes = await woven(store, items, embedder=ALIKE, **more)
    await store.commit(changes)
    return changes


async def test_equation_4_over_the_middle_of_when_it_happened(store):
    """Said long after each other, but a day apart in what they tell."""
    await put(store, kept_fact("a", "alpha", hours=-900, occurred=day(10)), kept_fact("b", "beta", occurred=day(20)))
    changes = await put(store, kept_fact("c", "gamma", hours=900, occurred=day(11)))
    assert told(changes, LinkKind.TEMPORAL) == [("c", "a", math.exp(-1))]


async def test_equation_4_over_when_it_was_said_where_no_more_is_known(store):
    noon_of_the_tenth = kept_fact("a", "alpha", hours=-5, occurred=day(10))
    said_then = kept_fact("b", "beta", hours=0)
    later = kept_fact("c", "gamma", hours=6)
    changes = await put(store, noon_of_the_tenth, said_then, later)
    assert told(changes, LinkKind.TEMPORAL) == [("c", "b", math.exp(-6 / 24))]
    assert find_moment(noon_of_the_tenth) == datetime(2024, 3, 10, 12, tzinfo=UTC)
    assert find_moment(later) == NOON + timedelta(hours=6)


async def test_links_in_time_go_to_the_nearest_and_are_bounded(store):
    for batch in (("a", 0), ("b", 20), ("c", 2), ("d", 30)):
        await put(store, kept_fact(batch[0], f"x{batch[0]}", hours=batch[1]))
    changes = await put(store, kept_fact("e", "xe", hours=1))
    assert told(changes, LinkKind.TEMPORAL) == [("e", "a", math.exp(-1 / 24)), ("e", "c", math.exp(-1 / 24))]
    changes = await put(store, kept_fact("f", "xf", hours=29), links=LinkSettings(temporal=1))
    assert told(changes, LinkKind.TEMPORAL) == [("f", "d", math.exp(-1 / 24))]


async def test_equation_5(store):
    """Cosines by hand: one and two 0.8, one and three 0.6, two and three 0; under the threshold there is no link."""
    await put(store, kept_fact("a", "one thing"), kept_fact("b", "two things"))
    changes = await put(store, kept_fact("c", "three things", hours=9999), kept_fact("d", "four", hours=-9999))
    assert told(changes, LinkKind.SEMANTIC) == [
        ("c", "a", pytest.approx(0.6, abs=1e-3)),
        ("d", "b", pytest.approx(0.6, abs=1e-3)),
    ]
    strict = LinkSettings(semantic_threshold=0.7)
    changes = await woven(store, [kept_fact("e", "two things", hours=99)], embedder=ALIKE, links=strict)
    assert told(changes, LinkKind.SEMANTIC) == [
        ("e", "a", pytest.approx(0.8, abs=1e-3)),
        ("e", "b", pytest.approx(1, abs=1e-3)),
    ]


async def test_equation_3_and_its_bound(store):
    names = (("Toby", EntityKind.OTHER),)
    for n in range(5):
        await put(store, kept_fact(f"f{n}", f"x{n}", hours=n * 500), names=names)
    changes = await put(store, kept_fact("new", "y", hours=9000), names=names)
    assert told(changes, LinkKind.ENTITY) == [("new", f"f{n}", 1.0) for n in (2, 3, 4)]
    assert len({link.label for link in changes.links if link.kind is LinkKind.ENTITY}) == 1


async def test_equation_2_decides_what_a_name_means(store):
    """0.6 * string + 0.25 * company + 0.15 * exp(-30 days / 30 days)."""
    known = (("Elizabeth Warrington", EntityKind.PERSON), ("Leeds", EntityKind.LOCATION))
    before = await put(store, kept_fact("a", "alpha"), names=known)
    again = (("Elisabeth Warrington", EntityKind.PERSON), ("Leeds", EntityKind.LOCATION))
    changes = await put(store, kept_fact("b", "beta", hours=30 * 24), names=again)
    (merge,) = changes.merges
    assert (merge.cooccurrence, merge.temporal) == (1.0, pytest.approx(math.exp(-1)))
    assert merge.score == pytest.approx(0.6 * merge.string + 0.25 + 0.15 * math.exp(-1))
    assert {mention.entity for mention in changes.mentions} == {entity.id for entity in before.entities}


async def test_turns_are_not_linked_to(store):
    """The turn is as near in time and meaning as anything can be, and names the same."""
    changes = await put(store, kept_fact("a", "one hello"), names=(("Ada", EntityKind.PERSON),))
    assert changes.links == ()


async def test_what_is_superseded_is_not_linked_to(store):
    names = (("Toby", EntityKind.OTHER),)
    await put(store, kept_fact("a", "one thing"), names=names)
    await store.commit(Changeset(supersedes=(Supersession(item="a", at=NOON),)))
    assert (await put(store, kept_fact("b", "one thing"), names=names)).links == ()


async def test_facts_opinions_and_observations_are_linked_among_each_other(store):
    await put(store, kept_fact("a", "one thing"))
    await put(store, kept_fact("b", "one thing", kind=ItemKind.OPINION, confidence=0.5))
    changes = await put(store, kept_fact("c", "one thing", kind=ItemKind.OBSERVATION))
    assert {(link.target, link.kind) for link in changes.links} == {
        (target, kind) for target in "ab" for kind in (LinkKind.TEMPORAL, LinkKind.SEMANTIC)
    }


async def test_the_same_woven_in_again_changes_nothing(store):
    names = (("Toby", EntityKind.OTHER),)
    await put(store, kept_fact("z", "one before", hours=-1), names=names)
    batch = [kept_fact("a", "one thing"), kept_fact("b", "two things", hours=1), kept_fact("c", "one more", hours=2)]
    await put(store, *batch, names=names)
    before = await dumped(store)
    await put(store, *batch, names=names)
    assert await dumped(store) == before


async def test_times_in_words_are_embedded_and_searched_along(store):
    item = kept_fact("a", "Ada met Toby.", occurred=day(9))
    assert text_to_embed(item) == "Ada met Toby. (9 March 2024)"
    assert text_to_embed(replace(item, text="Ada met Toby on 9 March 2024.")) == "Ada met Toby on 9 March 2024."
    assert text_to_embed(replace(item, occurrences=())) == "Ada met Toby."
    changes = await put(store, item)
    (entry,) = changes.items
    assert set(extract_terms("march met toby").tolist()) < set(entry.terms.tolist())
    assert (entry.item.text, entry.item.tokens) == ("Ada met Toby.", count_tokens("Ada met Toby."))
    probe = SearchProbe(topic="March", vector=np.zeros(ALIKE.dimension, dtype=np.float32), terms=extract_terms("March"))
    search = await store.search(probe, Scope(kinds=(ItemKind.FACT,)), Weights())
    hits = await search.lexical(5)
    assert [found.id for _, found in await search.load(hits.refs)] == ["a"]


async def test_nothing_is_woven_from_nothing(store):
    changes = await woven(store, [], embedder=ALIKE)
    assert changes == Changeset()
