"""When items hold: what the index's columns say of all at once is what the domain says of one."""

from datetime import UTC, datetime
from random import Random

import numpy as np
import pytest

from recollect.domain.time import Precision
from recollect.domain.triples import Comparison, TimeFilter
from recollect.domain.validity import OPEN_EDGES, filter_edge, matches_filter, span_validity
from recollect.store.index.validity import match_filter, span_edges
from recollect.testing import triple_material
from recollect.testing.triple_material import ZONES, between, month, year

NEW_YEAR = datetime(1981, 1, 1, tzinfo=UTC)


def columns(told):
    """What is held over the times of each row: none of them is without one."""
    times = [(row, time) for row, some in enumerate(told) for time in some]
    edges = np.array([filter_edge(time) for _, time in times], dtype=np.int64)
    rows = np.array([row for row, _ in times], dtype=np.int64)
    ranged = np.array([time.precision is Precision.RANGE for _, time in times])
    there, held = span_edges(rows, edges[:, 0], edges[:, 1], ranged)
    assert there.tolist() == list(range(len(told)))
    return held


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "told",
    [
        [year(1980), month(12, 1980)],  # end together: the later begun ends it
        [year(1980), month(1, 1980)],  # begin together: the sooner ended begins it
        [year(1980), between(None, NEW_YEAR)],
        [year(1980), between(NEW_YEAR, None)],
        [between(None, NEW_YEAR), between(NEW_YEAR, None)],
        [between(NEW_YEAR, NEW_YEAR)],
    ],
)
def test_what_several_times_hold_over(told, turned):
    when = span_validity(told[::-1] if turned else told)
    assert columns([told[::-1] if turned else told]).tolist() == [[*when.start, *when.end]]
    assert all(-OPEN_EDGES <= edge <= OPEN_EDGES for edge in (*when.start, *when.end))


@pytest.mark.parametrize("seed", range(5))
def test_any_times_and_any_question(seed):
    rng = Random(seed)
    told = [[triple_material.time(rng, rng.choice(ZONES)) for _ in range(rng.randrange(1, 5))] for _ in range(200)]
    held, whens = columns(told), [span_validity(times) for times in told]
    assert held.tolist() == [[*when.start, *when.end] for when in whens]
    answers = set()
    for _ in range(50):
        wanted = triple_material.time_filter(rng)
        mask = match_filter(held, wanted).tolist()
        assert mask == [matches_filter(when, wanted) for when in whens]
        answers.add(sum(mask))
    assert len(answers) > 10


def test_nothing_asked_lets_everything_through():
    held = columns([[year(1980)], [year(1990)]])
    assert match_filter(held, TimeFilter()).tolist() == [True, True]
    assert match_filter(held, TimeFilter(start=year(1985), start_operator=Comparison.LT)).tolist() == [True, False]
