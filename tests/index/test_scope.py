"""What a search may see, and nearness to a time (equations 13 and 14), by hand."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from index_rows import Doc, built

from recollect.domain.queries import SearchProbe
from recollect.domain.signals import Weights
from recollect.domain.time import Interval, Precision, to_micros
from recollect.store.index.scan import IndexSearch, RowScope, compute_proximity, mask_allowed

DAY = datetime(2024, 5, 10, tzinfo=UTC)
FAR = to_micros(DAY - timedelta(days=900))
ALWAYS = 2**62


def at(hours):
    return to_micros(DAY + timedelta(hours=hours))


def range_(start, end):
    ends = [None if hours is None else DAY + timedelta(hours=hours) for hours in (start, end)]
    return Interval(start=ends[0], end=ends[1], precision=Precision.RANGE)


def nearness(during, *spans, mentioned=FAR):
    (score,) = compute_proximity(built([Doc(seq=0, mentioned=mentioned, spans=spans)]), during).tolist()
    return pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize(
    ("span", "score"),
    [
        ((12, 12), 1.0),  # its midpoint is the range's
        ((6, 18), 1.0),
        ((17, 19), 0.5),  # |18 - 12| / (24 / 2)
        ((0, 12), 0.5),
        ((20, 22), 0.25),
        ((-5, -1), 0.0),
        ((-5, 0), 0.0),  # ends where the range begins: both are half open
        ((24, 30), 0.0),
        ((12, 48), 0.5),  # of a span that reaches beyond the range counts what lies inside: 12 to 24
        ((-48, 48), 1.0),
    ],
)
def test_equation_14(span, score):
    assert nearness(range_(0, 24), tuple(map(at, span))) == score


def test_an_event_at_the_very_edge_counts_a_little():
    assert nearness(range_(0, 24), (at(24) - 1, at(90))) == 0.01


def test_the_moment_of_saying_counts_as_a_span_does():
    assert nearness(range_(0, 24), mentioned=at(18)) == 0.5
    assert nearness(range_(0, 24), (at(30), at(40)), mentioned=at(18)) == 0.5
    assert nearness(range_(0, 24), (at(11), at(13)), (at(22), at(23)), mentioned=at(18)) == 1.0


@pytest.mark.parametrize(
    ("during", "span", "score"),
    [
        (range_(0, None), (5, 6), 1.0),
        (range_(0, None), (-5, 6), 1.0),
        (range_(0, None), (-5, -4), 0.0),
        (range_(None, 0), (-5, -4), 1.0),
        (range_(None, 0), (5, 6), 0.0),
    ],
)
def test_an_open_range_holds_or_does_not(during, span, score):
    said = FAR if during.start else at(50)
    assert nearness(during, tuple(map(at, span)), mentioned=said) == score


def test_a_span_that_is_open_itself():
    assert nearness(range_(0, 24), (at(12), ALWAYS)) == 0.5
    assert nearness(range_(0, 24), (-ALWAYS, at(12))) == 0.5
    assert nearness(range_(0, 24), (at(25), ALWAYS)) == 0.0


DOCS = [
    Doc(seq=0, order=0, kind="turn", session="s", speaker="Ada", mentioned=at(1), recorded=10, terms=(1,)),
    Doc(seq=1, order=1, kind="fact", session="s", speaker="Ben", mentioned=at(2), recorded=20, terms=(1,)),
    Doc(seq=2, order=2, kind="turn", session="t", speaker="Ben", mentioned=FAR, recorded=30, terms=(1,)),
    Doc(seq=3, order=3, kind="turn", session="t", speaker="Cleo", mentioned=FAR, recorded=40, terms=(1,)),
]


@pytest.mark.parametrize(
    ("scope", "rows"),
    [
        (RowScope(), [0, 1, 2, 4]),
        (RowScope(kinds=("fact",)), [1]),
        (RowScope(sessions=("t",)), [2, 4]),
        (RowScope(speakers=("Ben", "Ada")), [0, 1, 2]),
        (RowScope(speakers=("nobody",)), []),
        (RowScope(kinds=("turn",), speakers=("Ben",)), [2]),
        (RowScope(recorded_by=20), [0, 1]),
        (RowScope(recorded_by=9), []),
        (RowScope(during=range_(0, 24)), [0, 1]),
        (RowScope(hidden=frozenset({0, 3, 99})), [1, 2]),
    ],
)
def test_a_scope_lets_through_what_it_says_and_nothing_dead(scope, rows):
    index = built(DOCS, [DOCS[3]])
    assert np.flatnonzero(mask_allowed(index, scope)).tolist() == rows
    search = IndexSearch(index, probe(), scope, Weights())
    for arm in (search.semantic, search.lexical):
        assert sorted(arm(9)[0][0].tolist()) == rows


def probe(**more):
    return SearchProbe(
        topic="x", vector=np.array([1, 0, 0, 0], dtype=np.float32), terms=np.array([1], dtype=np.uint32), **more
    )


def test_k_stays_k_in_a_scope():
    index = built(DOCS)
    search = IndexSearch(index, probe(), RowScope(hidden=frozenset({0, 1})), Weights())
    assert sorted(search.semantic(2)[0][0].tolist()) == [2, 3]
    assert len(search.lexical(1)[0][0]) == 1


def test_a_search_sees_what_came_after_it_was_opened():
    index = built(DOCS[:2])
    search = IndexSearch(index, probe(), RowScope(sessions=("t",)), Weights())
    assert search.semantic(9)[0][0].tolist() == []
    extra = built(DOCS)
    index.__dict__.update(extra.__dict__)
    assert sorted(search.semantic(9)[0][0].tolist()) == [2, 3]


def test_no_time_asked_about_gives_nothing_temporal_and_keeps_everything_within():
    search = IndexSearch(built(DOCS), probe(), RowScope(), Weights())
    assert search.temporal(9)[0][0].tolist() == []
    assert search.mask_within_time(np.array([0, 3], dtype=np.int32)).tolist() == [True, True]


def test_temporal_hits_are_the_nearest_first_and_within():
    search = IndexSearch(built(DOCS), probe(during=range_(-2, 4)), RowScope(), Weights())
    ((rows, scores),) = search.temporal(9)
    assert rows.tolist() == [0, 1]
    assert scores.tolist() == pytest.approx([1.0, 2 / 3], abs=1e-5)
    assert search.mask_within_time(np.array([0, 3], dtype=np.int32)).tolist() == [True, False]


def test_signals_are_told_by_column():
    docs = [
        Doc(seq=0, order=0, speaker="Ada", asks=True, terms=(1,), spans=((at(1), at(2)),)),
        Doc(seq=1, order=1, speaker="Ben", vector=(0, 1, 0, 0)),
    ]
    search = IndexSearch(built(docs), probe(speakers=("Ada",), asks_when=True), RowScope(), Weights())
    rows = np.array([1, 0], dtype=np.int32)
    signals = search.signals(rows, phrases=np.array([1]), graph=np.array([0.25, 0.5], dtype=np.float32))
    assert signals.speaker.tolist() == [0, 1]
    assert signals.asks.tolist() == [0, 1]
    assert signals.dated.tolist() == [0, 1]
    assert signals.phrase.tolist() == [1, 0]
    assert signals.meaning.tolist() == [0, 1]
    assert signals.graph.tolist() == [0.25, 0.5]
    undated = IndexSearch(built(docs), probe(asks_when=False), RowScope(), Weights())
    assert not undated.signals(rows, phrases=np.array([]), graph=np.zeros(2, np.float32)).dated.any()
