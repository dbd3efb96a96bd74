"""Time expressions: the table worked out by hand, and what must hold of every text."""

from __future__ import annotations

import time
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import when_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.domain.time import Interval, Precision
from recollect.text.time_expressions import describe_interval, find_question_time, find_times

STATED = cases.EXPLICIT + cases.RELATIVE + cases.ANCHORED + cases.RANGES + cases.FOREIGN
NOW = datetime(2023, 6, 9, 19, 55, tzinfo=UTC)
WORDS = st.sampled_from(
    sorted({word for text, *_ in STATED for word in text.split()} | {w for text in cases.NOTHING for w in text.split()})
)
MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 1),  # noqa: DTZ001 - hypothesis wants naive bounds and adds the zone
    max_value=datetime(9999, 12, 31),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/Lima")]),
)


def moment(words: str) -> datetime:
    return datetime.fromisoformat(words).replace(tzinfo=UTC)


def meaning(notation: str | None) -> Interval | None:
    """The interval of a table's ``start..end precision``."""
    if notation is None:
        return None
    stretch, precision = notation.rsplit(" ", 1)
    start, end = (moment(side) if side else None for side in stretch.split(".."))
    return Interval(start=start, end=end, precision=Precision(precision))


def found(text: str, said_at: str) -> list[Interval]:
    return [mention.interval for mention in find_times(text, moment(said_at))]


@pytest.mark.parametrize(("text", "said_at", "expected"), STATED)
def test_a_stated_time_means_its_interval(text: str, said_at: str, expected: str | None) -> None:
    assert found(text, said_at) == ([] if expected is None else [meaning(expected)])


@pytest.mark.parametrize("text", cases.NOTHING)
def test_what_is_no_time_gives_none(text: str) -> None:
    assert found(text, cases.FRI) == []


@pytest.mark.parametrize(("text", "said_at"), cases.UNCLEAR_AT)
def test_what_is_unclear_on_that_day_gives_none(text: str, said_at: str) -> None:
    assert found(text, said_at) == []


@pytest.mark.parametrize(("text", "now", "expected"), cases.QUESTIONS)
def test_a_question_is_constrained(text: str, now: str, expected: str | None) -> None:
    assert find_question_time(text, moment(now)) == meaning(expected)


@pytest.mark.parametrize(("notation", "expected"), cases.DESCRIBED)
def test_an_interval_is_described_at_its_precision(notation: str, expected: str) -> None:
    interval = meaning(notation)
    assert interval is not None
    assert describe_interval(interval) == expected


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "Asia/Kathmandu", "Europe/Berlin"])
@pytest.mark.parametrize(
    "words", ["7 May 2023", "May 2023", "2023", "week of 1 May 2023", "since 2019", "8–12 June 2023", "summer 2022"]
)
def test_whole_days_read_the_same_after_a_change_of_zone(zone: str, words: str) -> None:
    (mention,) = find_times(f"in {words}" if words == "2023" else words, NOW.astimezone(ZoneInfo(zone)))
    start, end = (side and side.astimezone(UTC) for side in (mention.interval.start, mention.interval.end))
    assert describe_interval(Interval(start=start, end=end, precision=mention.interval.precision)) == words


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(STATED) + len(cases.NOTHING) + len(cases.UNCLEAR_AT) >= 170
    assert len(cases.NOTHING) + len(cases.UNCLEAR_AT) >= 40
    assert len(cases.FOREIGN) >= 20
    assert len(cases.QUESTIONS) >= 30


def test_several_times_come_in_order() -> None:
    mentions = find_times("I left last week, came back yesterday and see you tomorrow.", NOW)
    assert [mention.text for mention in mentions] == ["last week", "yesterday", "tomorrow"]


def test_a_mention_cannot_change() -> None:
    (mention,) = find_times("yesterday", NOW)
    with pytest.raises(FrozenInstanceError):
        mention.text = "tomorrow"  # type: ignore[misc]


def test_the_day_is_that_of_the_speaker() -> None:
    late = datetime(2023, 6, 9, 23, 30, tzinfo=ZoneInfo("America/Los_Angeles"))  # the 10th in UTC
    (mention,) = find_times("yesterday", late)
    assert mention.interval.start == datetime(2023, 6, 8, tzinfo=ZoneInfo("America/Los_Angeles"))


def test_a_day_of_the_clock_change_is_whole() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    (mention,) = find_times("yesterday", datetime(2023, 3, 27, 9, tzinfo=berlin))
    assert mention.interval.start == datetime(2023, 3, 26, tzinfo=berlin)
    assert mention.interval.end == datetime(2023, 3, 27, tzinfo=berlin)


@pytest.mark.parametrize("read", [find_times, find_question_time])
def test_a_naive_time_is_an_error(read: object) -> None:
    assert callable(read)
    with pytest.raises(ValueError, match="aware"):
        read("yesterday", datetime(2023, 6, 9))  # noqa: DTZ001


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=300) | st.lists(WORDS, max_size=25).map(" ".join), at=MOMENTS)
def test_no_text_raises_and_spans_hold_their_words(text: str, at: datetime) -> None:
    last = 0
    for mention in find_times(text, at):
        start, end = mention.span
        assert last <= start < end <= len(text)
        assert text[start:end] == mention.text
        last = end
        for side in (mention.interval.start, mention.interval.end):
            assert side is None or side.tzinfo is at.tzinfo
        assert describe_interval(mention.interval)
    find_question_time(text, at)


LENGTHS = {
    Precision.HOUR: (timedelta(hours=1),) * 2,
    Precision.PART_OF_DAY: (timedelta(hours=6), timedelta(hours=12)),
    Precision.DAY: (timedelta(days=1),) * 2,
    Precision.WEEK: (timedelta(days=7),) * 2,
    Precision.MONTH: (timedelta(days=28), timedelta(days=31)),
    Precision.SEASON: (timedelta(days=90), timedelta(days=92)),
    Precision.YEAR: (timedelta(days=365), timedelta(days=366)),
    Precision.DECADE: (timedelta(days=3652), timedelta(days=3653)),
}


@settings(max_examples=150, deadline=None)
@given(text=st.lists(WORDS, max_size=20).map(" ".join), at=MOMENTS)
def test_an_interval_is_as_long_as_its_precision_says(text: str, at: datetime) -> None:
    for mention in find_times(text, at):
        length = mention.interval.duration
        if length is not None and mention.interval.precision in LENGTHS:
            least, most = LENGTHS[mention.interval.precision]
            assert least <= length <= most


@given(
    weeks=st.integers(-2000, 2000),
    text=st.sampled_from(
        [
            "last week",
            "next week",
            "last Friday",
            "3 days ago",
            "last weekend",
            "two weeks ago",
            "tomorrow night",
            "in the last two weeks",
            "the week before last",
        ]
    ),
)
def test_relative_times_move_with_the_message(weeks: int, text: str) -> None:
    shift = timedelta(weeks=weeks)
    (here,), (there,) = find_times(text, NOW), find_times(text, NOW + shift)
    assert here.interval.start is not None
    assert here.interval.end is not None
    assert there.interval.start == here.interval.start + shift
    assert there.interval.end == here.interval.end + shift


@settings(deadline=None)
@given(at=MOMENTS, case=st.sampled_from(cases.EXPLICIT))
def test_explicit_dates_do_not_depend_on_the_message(at: datetime, case: tuple[str, str, str]) -> None:
    expected = meaning(case[2])
    (mention,) = find_times(case[0], at)
    assert expected is not None
    assert expected.start is not None
    assert mention.interval.start == expected.start.replace(tzinfo=at.tzinfo)


@given(day=st.dates(min_value=datetime(1600, 1, 1).date(), max_value=datetime(2099, 12, 31).date()))  # noqa: DTZ001
def test_a_described_day_reads_back(day: object) -> None:
    start = datetime.fromisoformat(str(day)).replace(tzinfo=UTC)
    interval = Interval(start=start, end=start + timedelta(days=1), precision=Precision.DAY)
    assert [mention.interval for mention in find_times(describe_interval(interval), NOW)] == [interval]


def test_a_message_without_times_costs_less_than_one_with_times() -> None:
    plain = "I really love how the garden looks, and the dog does too! What are you up to these hours"
    timed = "I really love how the garden looked yesterday, and the dog does too! On 3 May we met him"
    costs = [(_seconds(plain), _seconds(timed)) for _ in range(50)]
    best_plain, best_timed = (min(column) for column in zip(*costs, strict=True))
    assert best_plain * 1.5 < best_timed  # a quarter here


def _seconds(text: str) -> float:
    started = time.process_time()
    find_times(text, NOW)
    return time.process_time() - started
