"""Links by hand (equations 3, 4 and 5), and their bounds on anything."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.domain.entities import Mention
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.retain.link import LinkSettings, make_entity_links, make_semantic_links, make_temporal_links

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SETTINGS = LinkSettings()


def item(name, hours=0.0):
    return Item(
        id=str(name),
        kind=ItemKind.TURN,
        text="",
        session="s",
        speaker="Ada",
        sources=("m",),
        mentioned=NOON + timedelta(hours=hours),
        recorded=NOON,
    )


def entry(name, *vector):
    return IndexedItem(item=item(name), vector=np.array(vector, dtype=np.float32), terms=np.empty(0, dtype=np.uint32))


def told(links):
    return [(link.source, link.target, pytest.approx(link.weight, abs=1e-6)) for link in links]


def test_equation_4():
    links = list(make_temporal_links([item("c", 30), item("d", 36)], [item("a", 0), item("b", 24)], SETTINGS))
    assert told(links) == [
        ("c", "a", math.exp(-30 / 24)),
        ("c", "b", math.exp(-6 / 24)),
        ("d", "b", math.exp(-12 / 24)),
        ("d", "c", math.exp(-6 / 24)),
    ]
    assert {link.kind for link in links} == {LinkKind.TEMPORAL}


def test_what_is_far_apart_in_time_is_not_linked():
    near, far = 24 * 4.6, 24 * 4.62  # exp(-4.605) is 0.01
    assert told(make_temporal_links([item("b", near)], [item("a")], SETTINGS)) == [("b", "a", math.exp(-4.6))]
    assert told(make_temporal_links([item("b", far)], [item("a")], SETTINGS)) == []


def test_time_goes_both_ways_and_sigma_is_taken():
    settings_ = LinkSettings(temporal_sigma=timedelta(hours=1), temporal=1)
    assert told(make_temporal_links([item("b", -2), item("c", -3)], [item("x"), item("a")], settings_)) == [
        ("b", "a", math.exp(-2)),
        ("c", "b", math.exp(-1)),
    ]


def test_an_item_is_not_linked_to_its_older_self():
    assert told(make_temporal_links([item("a")], [item("a")], SETTINGS)) == []
    assert told(make_semantic_links([entry("a", 1, 0)], [[("a", 1.0)]], SETTINGS)) == []


def test_equation_5():
    """Cosines from the threshold on, the bank's and the batch's together, the most alike first."""
    batch = [entry("n0", 1, 0), entry("n1", 0.8, 0.6), entry("n2", 0.6, -0.8)]
    nearest = [[("o1", 0.9), ("o2", 0.59)], [("o1", 0.6)], []]
    assert told(make_semantic_links(batch, nearest, SETTINGS)) == [
        ("n0", "o1", 0.9),
        ("n1", "n0", 0.8),
        ("n1", "o1", 0.6),
        ("n2", "n0", 0.6),
    ]


def test_only_the_most_alike_are_linked_and_ties_go_by_id():
    nearest = [[("b", 0.9), ("a", 0.9), ("d", 0.7), ("c", 0.95), ("e", 0.9)]]
    assert [link.target for link in make_semantic_links([entry("n", 1, 0)], nearest, SETTINGS)] == ["c", "a", "b"]


def test_a_weight_is_never_more_than_one():
    (link,) = make_semantic_links([entry("n", 1, 0)], [[("a", 1.0000001)]], SETTINGS)
    assert (link.weight, link.kind) == (1.0, LinkKind.SEMANTIC)


def test_equation_3():
    mentions = [Mention(entity="e", item="n1", surface="Ada"), Mention(entity="e", item="n2", surface="Ada")]
    links = list(make_entity_links(mentions, {"e": ["o2", "o1"]}, SETTINGS))
    assert told(links) == [
        ("n1", "o2", 1.0),
        ("n1", "o1", 1.0),
        ("n2", "n1", 1.0),
        ("n2", "o2", 1.0),
        ("n2", "o1", 1.0),
    ]
    assert {(link.kind, link.label) for link in links} == {(LinkKind.ENTITY, "e")}


def test_entities_are_linked_each_to_their_own_and_the_newest_first():
    mentions = [
        Mention(entity=e, item=i, surface=e)
        for e, i in [("e", "1"), ("f", "1"), ("e", "2"), ("e", "3"), ("e", "4"), ("e", "5"), ("f", "5")]
    ]
    links = list(make_entity_links(mentions, {}, SETTINGS))
    assert [link.target for link in links if (link.source, link.label) == ("5", "e")] == ["4", "3", "2"]
    assert [link.target for link in links if (link.source, link.label) == ("5", "f")] == ["1"]


def test_two_names_of_one_entity_in_one_item_do_not_link_it_to_itself():
    mentions = [Mention(entity="e", item="1", surface=surface) for surface in ("Ada", "Ada Lovelace")]
    assert list(make_entity_links(mentions, {}, SETTINGS)) == []


def test_two_names_of_one_entity_in_one_item_give_each_link_once():
    mentions = [Mention(entity="e", item="2", surface=surface) for surface in ("Ada", "Ada Lovelace")]
    links = [(link.source, link.target) for link in make_entity_links(mentions, {"e": ["1"]}, SETTINGS)]
    assert links == [("2", "1")]


def test_nothing_new_gives_no_links():
    assert list(make_temporal_links([], [item("a")], SETTINGS)) == []
    assert list(make_semantic_links([], [], SETTINGS)) == []
    assert list(make_entity_links([], {"e": ["a"]}, SETTINGS)) == []


VECTORS = st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(VECTORS, st.floats(-200, 200)), min_size=1, max_size=12), st.integers(0, 4))
def test_bounds_hold_for_anything(shapes, before):
    entries = []
    for n, (vector, hours) in enumerate(shapes):
        row = np.array(vector, dtype=np.float32)
        row /= max(float(np.linalg.norm(row)), 1e-6)
        entries.append(IndexedItem(item=item(n, hours), vector=row, terms=np.empty(0, dtype=np.uint32)))
    old = [item(f"o{n}", n) for n in range(before)]
    nearest = [[(f"o{n}", 1 - n / 10) for n in range(before)] for _ in entries]
    temporal = list(make_temporal_links([e.item for e in entries], old, SETTINGS))
    semantic = list(make_semantic_links(entries, nearest, SETTINGS))
    for links, most in ((temporal, SETTINGS.temporal), (semantic, SETTINGS.semantic)):
        assert max(Counter(link.source for link in links).values(), default=0) <= most
        assert len({(link.source, link.target) for link in links}) == len(links)
        assert all(0 <= link.weight <= 1 and link.source != link.target for link in links)
    assert all(link.weight >= SETTINGS.semantic_threshold for link in semantic)


@given(st.lists(st.tuples(st.sampled_from("ef"), st.integers(0, 6)), max_size=20))
def test_entity_links_are_bounded_however_often_it_is_mentioned(pairs):
    mentions = [Mention(entity=entity, item=str(at), surface="x") for entity, at in dict.fromkeys(pairs)]
    links = list(make_entity_links(mentions, {"e": ["x", "y", "z", "w"]}, SETTINGS))
    counts = Counter((link.source, link.label) for link in links)
    assert max(counts.values(), default=0) <= SETTINGS.entity
    assert all(link.source != link.target and link.weight == 1.0 for link in links)
