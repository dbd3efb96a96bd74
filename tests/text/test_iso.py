"""ISO dates as models write them: no finer than they are, and never made up."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect.domain.time import Precision
from recollect.text.time_expressions.iso import parse_iso_date, parse_iso_span, parse_iso_span_checked

EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "start", "end", "precision"),
    [
        ("2023", datetime(2023, 1, 1, tzinfo=EAST), datetime(2024, 1, 1, tzinfo=EAST), Precision.YEAR),
        ("2023-12", datetime(2023, 12, 1, tzinfo=EAST), datetime(2024, 1, 1, tzinfo=EAST), Precision.MONTH),
        (" 2024-02-29 ", datetime(2024, 2, 29, tzinfo=EAST), datetime(2024, 3, 1, tzinfo=EAST), Precision.DAY),
    ],
)
def test_a_date_is_as_long_as_it_is_vague(text, start, end, precision):
    found = parse_iso_date(text, EAST)
    assert (found.start, found.end, found.precision) == (start, end, precision)


def test_a_moment_is_in_the_zone_unless_it_names_its_own():
    assert parse_iso_date("2023-07-09T18:30", EAST).start == datetime(2023, 7, 9, 16, 30, tzinfo=UTC)
    assert parse_iso_date("2023-07-09 18:30:05Z", EAST).start == datetime(2023, 7, 9, 18, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["July 2023", "2023-13", "2023-02-30", "0001", "9999-12-31", "2023-07-09T25:00", "23-07-09"]
)
def test_what_is_no_date(text):
    with pytest.raises(ValueError, match="no"):
        parse_iso_date(text, UTC)


def test_a_span_may_be_open_and_does_not_end_before_it_starts():
    assert parse_iso_span(None, " ", UTC) is None
    assert parse_iso_span("2023", "2023", UTC).precision is Precision.YEAR
    both = parse_iso_span("2023-05", "2023-07", UTC)
    assert (both.start, both.end) == (datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 8, 1, tzinfo=UTC))
    assert parse_iso_span(None, "2023-07", UTC).start is None
    with pytest.raises(ValueError, match="before it starts"):
        parse_iso_span("2023-05-03", "2023-05-01", UTC)


def test_dates_that_are_in_order_are_read_wherever_the_one_that_names_no_offset_is():
    """18:30 in Greenwich comes before 19:00 there, and after 19:00 two hours east of it."""
    dates = "2023-07-09T18:30Z", "2023-07-09T19:00"
    assert parse_iso_span(*dates, UTC) is not None
    with pytest.raises(ValueError, match="before it starts"):
        parse_iso_span(*dates, EAST)
    assert parse_iso_span_checked(*dates, EAST) == parse_iso_span(*dates, UTC)
    assert parse_iso_span_checked("2023-07", None, EAST) == parse_iso_span("2023-07", None, EAST)
