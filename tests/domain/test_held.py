"""When something holds, and how that stands to a time (REMem, figure 5)."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.domain.time import Interval, Precision, instant_interval, to_micros
from recollect.domain.triples import Comparison, TimeFilter, Triple
from recollect.domain.validity import OPEN_EDGES, Validity, filter_edge, matches_filter, span_validity, validity_of
from recollect.testing.triple_material import between, date, month, year

EAST, WEST = timezone(timedelta(hours=5)), timezone(timedelta(hours=-9, minutes=-30))
SAID = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)

FIRST, SECOND = (Comparison.LT, Comparison.EQ, Comparison.GT), ("le", "ge")


def item(*, triple=None, times=(), mentioned=SAID):
    return Item(
        id="i",
        kind=ItemKind.GIST if triple is None else ItemKind.TRIPLE,
        text="x",
        session="s",
        speaker="Ada",
        sources=("m",),
        mentioned=mentioned,
        recorded=SAID,
        occurrences=tuple(Occurrence(words="x", interval=time) for time in times),
        triple=triple,
    )


def of(start, end):
    return validity_of(item(triple=Triple(subject="a", predicate="b", object="c", start=start, end=end)))


def stands(when, time, *, end=False):
    """The operators by which a start, or an end, stands to a time."""
    name = "end" if end else "start"
    holds = [one for one in Comparison if matches_filter(when, TimeFilter(**{name: time, f"{name}_operator": one}))]
    assert len(set(holds).intersection(FIRST)) == 1, holds
    assert (Comparison.LE in holds) == (Comparison.GT not in holds)
    assert (Comparison.GE in holds) == (Comparison.LT not in holds)
    return next(one.value for one in holds if one in FIRST)


def point(time):
    return of(time, time)


@pytest.mark.parametrize(
    ("time", "asked", "standing"),
    [
        (year(1980), year(1980), "eq"),
        (year(1980), year(1981), "lt"),
        (year(1980), year(1979), "gt"),
        (year(1980), month(5, 1980), "eq"),
        (month(5, 1980), year(1980), "eq"),
        (month(5, 1980), month(6, 1980), "lt"),
        (month(1, 1981), month(12, 1980), "gt"),
        (date(SAID), instant_interval(SAID), "eq"),
        (instant_interval(SAID), date(SAID), "eq"),
        (instant_interval(SAID), instant_interval(SAID), "eq"),
        (instant_interval(SAID), instant_interval(SAID + timedelta(microseconds=1)), "lt"),
        (date(SAID), instant_interval(SAID + timedelta(days=1)), "lt"),
        (date(datetime(1980, 12, 31, tzinfo=UTC)), year(1981), "lt"),
        (date(datetime(1981, 1, 1, tzinfo=UTC)), year(1981), "eq"),
        (year(1984), between(datetime(1980, 1, 1, tzinfo=UTC), datetime(1984, 1, 2, tzinfo=UTC)), "eq"),
        (year(1984), between(datetime(1980, 1, 1, tzinfo=UTC), datetime(1984, 1, 1, tzinfo=UTC)), "gt"),
        (year(1984), between(datetime(1980, 1, 1, tzinfo=UTC), None), "eq"),
        (year(1984), between(None, datetime(1980, 1, 1, tzinfo=UTC)), "gt"),
        (year(1984), between(datetime(1990, 1, 1, tzinfo=UTC), None), "lt"),
    ],
)
def test_what_overlaps_is_equal_and_what_does_not_is_before_or_after(time, asked, standing):
    assert stands(point(time), asked) == standing == stands(point(time), asked, end=True)
    turned = {"lt": "gt", "gt": "lt", "eq": "eq"}[standing]
    assert stands(point(asked), time) == turned


def test_an_open_start_is_before_all_and_an_open_end_after_all():
    ever = [year(1), year(1980), year(9998), between(None, SAID), between(SAID, None)]
    until, since = of(None, year(1980)), of(year(1980), None)
    assert {stands(until, time) for time in ever} == {"lt"}
    assert {stands(since, time, end=True) for time in ever} == {"gt"}
    assert (until.start, since.end) == ((-OPEN_EDGES, -OPEN_EDGES), (OPEN_EDGES, OPEN_EDGES))


def test_no_time_asked_about_lets_everything_through():
    assert matches_filter(of(None, year(1980)), TimeFilter())
    assert matches_filter(of(None, year(1980)), TimeFilter(end=year(1980)))
    assert not matches_filter(of(None, year(1980)), TimeFilter(start=year(1980)))


def test_what_is_asked_without_operators_lies_within():
    wanted = TimeFilter(start=year(1980), end=year(1984))
    assert matches_filter(of(year(1980), year(1984)), wanted)
    assert matches_filter(of(month(3, 1981), month(4, 1981)), wanted)
    assert not matches_filter(of(year(1979), year(1984)), wanted)
    assert not matches_filter(of(year(1980), year(1985)), wanted)
    assert not matches_filter(of(year(1980), None), wanted)


@pytest.mark.parametrize(
    ("start", "end", "overlaps"),
    [
        (year(1940), year(1949), False),
        (year(1940), year(1950), True),
        (year(1955), year(1956), True),
        (year(1900), None, True),
        (None, year(1955), True),
        (None, year(1949), False),
        (year(1960), year(1970), True),
        (month(1, 1961), None, False),
    ],
)
def test_the_overlap_of_figure_5(start, end, overlaps):
    fifties = TimeFilter(start=year(1960), start_operator=Comparison.LE, end=year(1950), end_operator=Comparison.GE)
    assert matches_filter(of(start, end), fifties) is overlaps


@pytest.mark.parametrize("zone", [UTC, EAST, WEST, ZoneInfo("Europe/Amsterdam"), ZoneInfo("America/New_York")])
def test_a_year_is_the_same_in_every_zone(zone):
    for number in (1930, 1980):  # Amsterdam was 19 minutes and 32 seconds off in 1930
        told = point(year(number, zone))
        assert [stands(told, year(number + n)) for n in (-1, 0, 1)] == ["gt", "eq", "lt"]
        assert [stands(told, month(12, number - 1)), stands(told, month(1, number + 1))] == ["gt", "lt"]


def test_an_hour_that_clocks_were_put_back_over_is_a_moment():
    zone = ZoneInfo("Europe/Amsterdam")
    start = datetime(2024, 10, 27, 2, 30, tzinfo=zone)
    end = datetime(2024, 10, 27, 2, 10, tzinfo=zone, fold=1)
    turned = Interval(start=start.astimezone(timezone(timedelta(hours=2))), end=end, precision=Precision.RANGE)
    assert point(turned).start == (_wall(start), _wall(start) + 1)
    for time in (date(start), turned, instant_interval(start), instant_interval(end)):
        stands(point(turned), time)
        stands(point(time), turned)


def test_a_time_of_no_length_is_a_moment():
    empty = between(SAID, SAID)
    assert stands(point(empty), empty) == stands(point(empty), instant_interval(SAID)) == "eq"
    assert stands(point(empty), date(SAID)) == "eq"


def test_a_triple_without_a_time_stands_where_its_occurrences_do_and_else_where_it_was_said():
    bare = Triple(subject="a", predicate="b", object="c")
    said = SAID.astimezone(EAST)
    assert validity_of(item(triple=bare, mentioned=said)) == span_validity([instant_interval(said)])
    assert validity_of(item(triple=bare, mentioned=said)).start[0] == _wall(SAID) + 5 * 3_600_000_000
    assert validity_of(item(triple=bare, times=(year(1980),))) == point(year(1980))
    assert validity_of(item(times=(year(1980),))) == point(year(1980))
    assert validity_of(item()) == span_validity([instant_interval(SAID)])


def test_what_speaks_of_several_times_holds_over_all_of_them():
    when = span_validity([month(5, 1981), year(1980), between(datetime(1980, 1, 1, tzinfo=UTC), SAID), month(1, 1980)])
    begins = _wall(datetime(1980, 1, 1, tzinfo=UTC))
    assert when == Validity(start=(begins, begins + 1), end=(_wall(SAID) - 1, _wall(SAID)))
    assert span_validity([year(1980), month(12, 1980)]).end == filter_edge(month(12, 1980))
    assert span_validity([year(1980), between(SAID, None)]).end == (OPEN_EDGES, OPEN_EDGES)
    assert span_validity([year(1980), between(None, SAID)]).start == (-OPEN_EDGES, -OPEN_EDGES)


DAYS = st.builds(datetime, st.integers(1980, 1981), st.integers(1, 12), st.integers(1, 3), tzinfo=st.just(UTC))
MOMENTS = st.builds(
    lambda day, later, zone: (day + later).astimezone(zone),
    DAYS,
    st.timedeltas(timedelta(), timedelta(days=1)),
    st.sampled_from((UTC, EAST, WEST)),
)


@st.composite
def times(draw):
    one, other = sorted((draw(MOMENTS), draw(MOMENTS)))
    zone = draw(st.sampled_from((UTC, EAST, WEST)))
    kinds = (
        year(one.year, zone),
        month(one.month, one.year, zone),
        date(one),
        instant_interval(one),
        between(one, other),
        between(one, None),
        between(None, other),
    )
    return draw(st.sampled_from(kinds))


@given(st.none() | times(), st.none() | times(), times())
def test_of_before_equal_and_after_exactly_one_holds(start, end, asked):
    when = of(start, end)
    stands(when, asked)
    stands(when, asked, end=True)


@given(st.lists(times(), min_size=1, max_size=4), times())
def test_that_is_so_for_what_speaks_of_times_as_well(told, asked):
    when = validity_of(item(times=told))
    stands(when, asked)
    stands(when, asked, end=True)
    assert when.start[0] == min(filter_edge(time)[0] for time in told)
    assert when.end[1] == max(filter_edge(time)[1] for time in told)


def _wall(moment):
    return to_micros(moment.replace(tzinfo=UTC))
