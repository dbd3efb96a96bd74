from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect.cli.times import parse_interval, parse_span, parse_zone
from recollect.errors import InvalidInput

HOUR_EAST = timezone(timedelta(hours=1))


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2023", at(2023, 1, 1), at(2024, 1, 1)),
        ("2023-12", at(2023, 12, 1), at(2024, 1, 1)),
        ("2024-02", at(2024, 2, 1), at(2024, 3, 1)),
        ("2023-07-11", at(2023, 7, 11), at(2023, 7, 12)),
        ("2023-07-11T18:05", at(2023, 7, 11, 18, 5), at(2023, 7, 11, 18, 5)),
        ("2023-07-11 18:05:30+01:00", at(2023, 7, 11, 17, 5, 30), at(2023, 7, 11, 17, 5, 30)),
        ("2023-07-11T18:05Z", at(2023, 7, 11, 18, 5), at(2023, 7, 11, 18, 5)),
    ],
)
def test_a_time_is_as_long_as_it_is_exact(text, start, end):
    assert parse_span(text, UTC) == (start, end)


@pytest.mark.parametrize("text", ["", "yesterday", "2023-13", "0000", "2023-02-30", "11/07/2023", "9999"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InvalidInput, match="cannot be read"):
        parse_span(text, UTC)


def test_the_zone_is_meant_where_none_is_written():
    assert parse_span("2023-07-11", HOUR_EAST)[0] == at(2023, 7, 10, 23)


def test_between_reaches_from_the_start_of_one_to_the_end_of_the_other():
    interval = parse_interval("2023-07", "2023-08", UTC)
    assert (interval.start, interval.end) == (at(2023, 7, 1), at(2023, 9, 1))
    assert parse_interval(None, None, UTC) is None
    assert parse_interval("2023", None, UTC).end is None
    with pytest.raises(InvalidInput, match="is empty"):
        parse_interval("2024", "2023", UTC)


@pytest.mark.parametrize("name", ["UTC", "utc", "Z", "Europe/London", "+01:00", "-0530"])
def test_zones(name):
    assert datetime(2023, 7, 11, tzinfo=parse_zone(name)).utcoffset() is not None


@pytest.mark.parametrize("name", ["Atlantis", "../etc/passwd", "", "+99:00"])
def test_what_is_no_zone_is_refused(name):
    with pytest.raises(InvalidInput, match="unknown time zone"):
        parse_zone(name)
