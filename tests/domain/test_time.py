"""Intervals and moments: half open, exact, in any zone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.domain.time import (
    FIRST_MOMENT,
    LAST_MOMENT,
    Interval,
    Precision,
    add_seconds,
    from_micros,
    instant_interval,
    to_micros,
)
from recollect.errors import NaiveDatetime

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def hours(start, end):
    ends = [None if at is None else NOON + timedelta(hours=at) for at in (start, end)]
    return Interval(start=ends[0], end=ends[1], precision=Precision.RANGE)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ((0, 2), (1, 3), True),
        ((0, 4), (1, 2), True),
        ((0, 2), (2, 4), False),  # half open: the end is not in it
        ((0, 1), (2, 3), False),
        ((0, 2), (0, 2), True),
        ((None, 2), (1, 3), True),
        ((None, 2), (2, 3), False),
        ((2, None), (0, 3), True),
        ((3, None), (0, 3), False),
        ((None, 1), (2, None), False),
        ((None, 3), (2, None), True),
        ((None, 1), (None, -9), True),
        ((1, None), (99, None), True),
        ((1, 1), (0, 2), True),
        ((0, 0), (0, 2), False),
    ],
)
def test_overlap_is_half_open_and_mutual(one, other, shared):
    assert hours(*one).overlaps(hours(*other)) is shared
    assert hours(*other).overlaps(hours(*one)) is shared


@pytest.mark.parametrize(
    ("interval", "inside"),
    [((0, 2), [0, 1]), ((None, 1), [-1, 0]), ((1, None), [1, 2, 3]), ((1, 1), []), ((-9, 9), [-1, 0, 1, 2, 3])],
)
def test_what_an_interval_contains(interval, inside):
    assert [at for at in range(-1, 4) if hours(*interval).contains(NOON + timedelta(hours=at))] == inside


def test_middle_and_length():
    assert hours(0, 3).midpoint == NOON + timedelta(hours=1.5)
    assert hours(0, 3).duration == timedelta(hours=3)
    assert hours(1, 1).midpoint == NOON + timedelta(hours=1)
    assert hours(None, 3).midpoint == NOON + timedelta(hours=3)
    assert hours(3, None).midpoint == NOON + timedelta(hours=3)
    assert hours(None, 3).duration is hours(3, None).duration is None


def test_ends_in_other_zones_are_compared_as_moments():
    east = timezone(timedelta(hours=9))
    local = Interval(
        start=datetime(2024, 5, 1, 21, tzinfo=east), end=datetime(2024, 5, 1, 22, tzinfo=east), precision=Precision.HOUR
    )
    assert local.overlaps(hours(0, 1))
    assert not local.overlaps(hours(1, 2))


@pytest.mark.parametrize(("start", "end"), [(None, None), (1, 0)])
def test_what_is_no_interval_is_refused(start, end):
    with pytest.raises(ValueError, match="interval"):
        hours(start, end)


@pytest.mark.parametrize("naive", ["start", "end"])
def test_naive_ends_are_refused(naive):
    ends = {"start": NOON, "end": NOON + timedelta(1), naive: NOON.replace(tzinfo=None)}
    with pytest.raises(NaiveDatetime):
        Interval(**ends, precision=Precision.DAY)


def test_an_instant_overlaps_what_contains_it():
    assert instant_interval(NOON).duration == timedelta(microseconds=1)
    assert instant_interval(NOON).overlaps(hours(0, 1))
    assert instant_interval(NOON).overlaps(hours(-1, None))
    assert not instant_interval(NOON).overlaps(hours(-1, 0))


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=OFFSETS))
@example(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))
@example(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-14))))
@example(datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
def test_micros_are_exact(moment):
    micros = to_micros(moment)
    assert isinstance(micros, int)
    assert (moment - EPOCH) == timedelta(microseconds=micros)
    assert from_micros(micros) == min(max(moment, FIRST_MOMENT), LAST_MOMENT)
    if FIRST_MOMENT <= moment <= LAST_MOMENT:
        assert from_micros(micros).utcoffset() == timedelta(0)


@given(st.datetimes(timezones=OFFSETS), st.datetimes(timezones=OFFSETS))
def test_micros_order_as_moments_do(one, other):
    assert (to_micros(one) < to_micros(other)) == (one < other)


def test_micros_of_known_moments():
    assert to_micros(EPOCH) == 0
    assert to_micros(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    assert to_micros(datetime(2024, 5, 1, tzinfo=UTC)) == 1_714_521_600_000_000
    assert from_micros(-1) == datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)


def test_precisions_go_from_fine_to_coarse():
    assert [precision.value for precision in Precision] == (
        "instant hour part_of_day day week month season year decade range".split()
    )


def test_a_moment_after_the_last_of_the_calendar_is_the_last():
    last = datetime.max.replace(tzinfo=UTC)
    assert add_seconds(datetime(2024, 5, 1, tzinfo=UTC), 1.5) == datetime(2024, 5, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert add_seconds(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), 20) == last
