from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect.domain.limits import LIMITS_FORM, Limit, Period, find_exceeded_limit, parse_limits
from recollect.errors import InvalidInput

NOW = datetime(2024, 5, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))  # still April in UTC

DAILY = Limit(tokens=100, per=Period.DAY)
EVER = Limit(tokens=1000)
EXTRACT = Limit(tokens=50, per=Period.DAY, role="extract")


def test_limits_are_read_as_they_are_written():
    assert parse_limits(LIMITS_FORM) == (
        Limit(tokens=2_000_000, per=Period.DAY),
        Limit(tokens=500_000, per=Period.DAY, role="extract"),
        Limit(tokens=10_000_000, per=Period.ALL),
    )
    assert parse_limits(" judge=1.5M/all, 7 ,0.5K/day,") == (
        Limit(tokens=1_500_000, role="judge"),
        Limit(tokens=7),
        Limit(tokens=500, per=Period.DAY),
    )
    assert parse_limits("") == ()


@pytest.mark.parametrize("text", ["2MB", "2M/week", "-1", "extract:5", "=5", "extract=", "1M/day/all", "2 M"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(InvalidInput, match="2M/day,extract=500k/day,10M"):
        parse_limits(text)


def test_a_limit_is_not_negative():
    with pytest.raises(InvalidInput, match="-1"):
        Limit(tokens=-1)


def test_days_are_those_of_utc():
    assert DAILY.since(NOW) == datetime(2024, 4, 30, tzinfo=UTC)
    assert DAILY.until(NOW) == datetime(2024, 5, 1, tzinfo=UTC)
    assert (EVER.since(NOW), EVER.until(NOW)) == (None, None)


def test_a_limit_covers_its_role_or_all():
    assert EXTRACT.covers("extract")
    assert not EXTRACT.covers("answer")
    assert DAILY.covers("answer")


@pytest.mark.parametrize(
    ("spent", "needed", "broken"),
    [
        ({DAILY: 0, EVER: 0}, 100, None),
        ({DAILY: 0, EVER: 0}, 101, DAILY),
        ({DAILY: 99, EVER: 99}, 1, None),
        ({DAILY: 100, EVER: 100}, 0, DAILY),
        ({DAILY: 0, EVER: 1000}, 0, EVER),
        ({DAILY: 500, EVER: 1500}, 10, EVER),
    ],
)
def test_what_a_call_would_break(spent, needed, broken):
    assert find_exceeded_limit([DAILY, EVER], spent, needed) == broken


def test_no_limit_breaks_nothing():
    assert find_exceeded_limit([], {}, 10**9) is None


def test_a_limit_is_told_in_words():
    assert str(EXTRACT) == "50 tokens a day for extract"
    assert str(EVER) == "1,000 tokens in all"
