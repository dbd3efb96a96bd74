"""BM25 over exchanges, passages and sessions, against a slow reference written from its definition."""

import math
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from index_rows import Doc, built, living, neighbours

from recollect.store.index.lexical import LexicalScan

K1, B = 1.2, 0.75
CLOSE = 2e-5


def scanned(index, terms):
    return LexicalScan(index.table, index.postings, index.lengths, np.array(terms, dtype=np.uint32))


def reference(alive, asked):
    """For each live row its three scores: BM25 of the text it stands for, as a share of the most there could be."""
    exchanges, passages, sessions = {}, {}, {}
    for row, doc in alive.items():
        line, place = neighbours(alive, row)
        before = line[max(0, place - 1) : place]
        exchanges[row] = words(alive, [row] if doc.answered else [*before, row])
        passages[row] = words(alive, line[max(0, place - 3) : place + 4])
        sessions[doc.session] = words(alive, [at for at, other in alive.items() if other.session == doc.session])
    exchange, passage, session = (bm25(texts, asked) for texts in (exchanges, passages, sessions))
    return {row: (exchange[row], passage[row], session[doc.session]) for row, doc in alive.items()}


def words(alive, rows):
    return Counter(term for row in rows for term in alive[row].terms)


def bm25(texts, asked):
    mean = sum(text.total() for text in texts.values()) / len(texts) or 1.0
    scores, most = dict.fromkeys(texts, 0.0), 0.0
    for term in asked:
        having = sum(term in text for text in texts.values())
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        most += idf * (K1 + 1)
        for name, text in texts.items():
            norm = text[term] + K1 * (1 - B + B * text.total() / mean)
            scores[name] += idf * (K1 + 1) * text[term] / norm if text[term] else 0.0
    return {name: score / most if most else 0.0 for name, score in scores.items()}


def assert_agrees(batches, asked):
    scan, expected = scanned(built(*batches), asked), reference(living(*batches), asked)
    for row, (exchange, passage, session) in expected.items():
        assert scan.exchange[row] == pytest.approx(exchange, abs=CLOSE), ("exchange", row)
        assert scan.passage[row] == pytest.approx(passage, abs=CLOSE), ("passage", row)
        assert scan.session[row] == pytest.approx(session, abs=CLOSE), ("session", row)


TERMS = st.lists(st.integers(0, 6), max_size=6).map(tuple)
SHAPES = st.tuples(st.sampled_from("abc"), TERMS, st.booleans(), st.sampled_from(["turn", "fact"]))
ORDERS = st.integers(1, 12).flatmap(lambda count: st.permutations(range(count)))
ASKED = st.lists(st.integers(0, 8), max_size=4, unique=True)


@st.composite
def histories(draw, *, replacing):
    """Batches of documents: sessions interleaved, orders as they come; some replace older ones of another batch."""
    orders = draw(ORDERS)
    shapes = draw(st.lists(SHAPES, min_size=len(orders), max_size=len(orders)))
    docs = [
        Doc(seq=seq, session=session, order=order, terms=terms, answered=answered, kind=kind)
        for seq, (order, (session, terms, answered, kind)) in enumerate(zip(orders, shapes, strict=True))
    ]
    cuts = sorted(draw(st.sets(st.integers(1, len(docs)), max_size=5)))
    batches = [docs[a:b] for a, b in zip([0, *cuts], [*cuts, len(docs)], strict=True) if a < b]
    if replacing:
        for seq in draw(st.lists(st.integers(0, len(docs) - 1), min_size=1, max_size=4)):
            old = docs[seq]
            again = Doc(seq=seq, session=old.session, order=old.order, kind=old.kind, terms=draw(TERMS), answered=True)
            batches.append([again])
    return batches


@settings(max_examples=50, deadline=None)
@given(histories(replacing=False), ASKED)
def test_a_scan_agrees_with_bm25_by_definition(batches, asked):
    assert_agrees(batches, asked)


# A dead row stands for nothing, yet its old neighbours' words count in the mean length of a text.
DEAD = [[Doc(seq=0, terms=(1,) * 5), Doc(seq=1, order=1, terms=(2,))], [Doc(seq=1, order=1, terms=(2,))]]


@settings(max_examples=50, deadline=None)
@given(histories(replacing=True), ASKED)
@example(DEAD, [2])
def test_a_scan_agrees_with_bm25_where_rows_were_replaced(batches, asked):
    assert_agrees(batches, asked)


@settings(max_examples=40, deadline=None)
@given(histories(replacing=False), ASKED)
def test_many_small_batches_give_what_one_gives(batches, asked):
    one, many = (scanned(built(*parts), asked) for parts in ([list(chain(*batches))], batches))
    for name in ("exchange", "passage", "session"):
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), atol=CLOSE, err_msg=name)


def test_a_reply_is_found_by_the_words_before_it_and_a_row_with_its_answer_is_not():
    plain = [Doc(seq=0, order=0, terms=(1,)), Doc(seq=1, order=1, terms=(2,)), Doc(seq=2, order=2, terms=(3,))]
    scan = scanned(built(plain), [1])
    assert scan.exchange[0] > scan.exchange[1] > 0
    assert scan.exchange[2] == 0
    answered = [plain[0], Doc(seq=1, order=1, terms=(2,), answered=True), plain[2]]
    assert scanned(built(answered), [1]).exchange[1] == 0


def test_a_passage_reaches_three_neighbours_and_no_other_session_or_kind():
    row = [Doc(seq=n, order=n, terms=(1,) if n == 4 else (9,)) for n in range(9)]
    others = [Doc(seq=9, order=4, session="t", terms=(9,)), Doc(seq=10, order=4, kind="fact", terms=(9,))]
    scan = scanned(built([*row, *others]), [1])
    assert [bool(score) for score in scan.passage] == [False, *[True] * 7, False, False, False]
    assert [bool(score) for score in scan.session] == [*[True] * 9, False, True]


def test_scores_are_shares_of_the_most_and_no_question_gives_none():
    index = built([Doc(seq=0, terms=(1,) * 500), Doc(seq=1, order=9, session="t", terms=(2,))])
    scan = scanned(index, [1])
    assert 0.5 < scan.exchange[0] < 1
    assert not scanned(index, []).exchange.any()
    assert not scanned(index, [77]).session.any()
