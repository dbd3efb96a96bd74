"""What is read of a text has a bound where reading all of it would be of no use."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import numpy as np

from recollect._unicode import normalize_unicode
from recollect.domain.items import IndexedItem, Item, ItemKind
from recollect.domain.queries import Query
from recollect.recall.analyze import make_probe, parse_question
from recollect.retain.link import LinkSettings, make_semantic_links
from recollect.text.time_expressions import find_times
from recollect.text.time_expressions.scan import MAX_EXPRESSIONS

NOW = datetime(2023, 7, 11, 18, 5, tzinfo=UTC)


def make_item(number: int, vector: np.ndarray) -> IndexedItem:
    item = Item(
        id=f"turn:0:{number:05}", kind=ItemKind.TURN, text="hi", session="s", speaker="Ada", sources=(f"{number}",),
        mentioned=NOW, recorded=NOW, order=number, tokens=1,
    )  # fmt: skip
    return IndexedItem(item=item, vector=vector, terms=np.empty(0, dtype=np.uint32), asks=False)


def test_a_quote_that_is_never_closed_hides_no_other_quote() -> None:
    read = parse_question(Query(text='Who said “never « and "that\'s it" „so there” 6" «', now=NOW), ())
    assert read.phrases == ('never « and "that\'s it" „so there',)
    read = parse_question(Query(text='Who said « and "that\'s it" «so there»', now=NOW), ())
    assert read.phrases == ('and "that\'s it" «so there',)
    read = parse_question(Query(text='«so there» « and "that\'s it" "', now=NOW), ())
    assert read.phrases == ("so there", "that's it")


def test_a_question_is_searched_by_its_first_phrases_and_words() -> None:
    text = " ".join(f'"phrase {n}" word{n}' for n in range(3_000))
    read = parse_question(Query(text=text, now=NOW), ())
    probe = make_probe(read, np.zeros(4, dtype=np.float32))
    first = make_probe(parse_question(Query(text=text[:200], now=NOW), ()), np.zeros(4, dtype=np.float32))
    assert read.phrases[:2] == ("phrase 0", "phrase 1")
    assert (len(read.phrases), len(probe.terms)) == (32, 1_000)
    assert set(first.terms.tolist()) <= set(probe.terms.tolist())
    assert probe.terms.tolist() == sorted(probe.terms.tolist())


def test_a_text_is_read_for_a_limited_number_of_times() -> None:
    dates = [f"{day} May {year}" for year in (2020, 2021) for day in range(1, 29)]
    text = "; ".join(dates)
    assert [found.text for found in find_times(text, NOW, limit=3)] == dates[:3]
    assert [found.text for found in find_times(text, NOW)] == dates[:MAX_EXPRESSIONS]
    assert find_times(f"{'5/7/2023 ' * MAX_EXPRESSIONS} yesterday", NOW) == ()  # ambiguous ones count too


def test_many_equal_messages_of_one_call_have_few_links() -> None:
    vector = np.array([1.0, 0.0], dtype=np.float32)
    items = [make_item(number, vector) for number in range(5_000)]
    links = list(make_semantic_links(items, [[] for _ in items], LinkSettings()))
    assert len(links) == 3 * 5_000 - 6  # the first three have fewer before them
    assert all(link.target < link.source for link in links)


def test_the_nearest_message_is_found_in_a_large_call_too() -> None:
    seeded = np.random.default_rng(7)
    vectors = seeded.normal(size=(2_500, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[2_400] = vectors[2_000]
    items = [make_item(number, vector) for number, vector in enumerate(vectors)]
    links = [(link.source, link.target) for link in make_semantic_links(items, [[] for _ in items], LinkSettings())]
    assert (items[2_400].item.id, items[2_000].item.id) in links


def test_marks_keep_their_letter() -> None:
    assert normalize_unicode("NFC", "e\u0301") == "é"
    many = "a" + "\u0301\u0316" * 15
    assert normalize_unicode("NFKD", many) == unicodedata.normalize("NFKD", many)
    assert len(normalize_unicode("NFKD", many + "\u0301")) == len(many) + 2
    assert "\u034f" in normalize_unicode("NFKD", "\u0f73" * 100)  # each is taken apart into two marks
