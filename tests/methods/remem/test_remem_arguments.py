"""What a model writes in a call, and what is made of it."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from recollect.domain.time import Interval, Precision
from recollect.domain.triples import Aggregation, Comparison, Ordering, TimeFilter
from recollect.methods.remem.arguments import InvalidCall, ToolCall, parse_call, read_time
from recollect.methods.remem.schemas import TOOLS, Tool
from recollect.text.time_expressions import describe_interval
from recollect.text.time_expressions.iso import parse_iso_date

EAST = timezone(timedelta(hours=5))
NOW = datetime(2024, 6, 5, 12, tzinfo=UTC)


def meant(tool, **arguments):
    return parse_call(tool, arguments, NOW)


def problem(tool, **arguments):
    with pytest.raises(InvalidCall) as caught:
        meant(tool, **arguments)
    return str(caught.value)


def test_a_call_without_times_has_no_filter():
    assert meant("semantic_retrieve", query=" Who sang? ") == ToolCall(tool=Tool.SEMANTIC, query="Who sang?")


def test_ge_and_le_are_meant_where_no_operator_is_given():
    request = meant("lexical_retrieve", query="choir", start_time="1950", end_time="1960")
    assert request.when == TimeFilter(
        start=parse_iso_date("1950", UTC),
        start_operator=Comparison.GE,
        end=parse_iso_date("1960", UTC),
        end_operator=Comparison.LE,
    )


@pytest.mark.parametrize("operator", list(Comparison))
def test_every_operator_can_be_given_on_both_sides(operator):
    request = meant(
        "find_gist_contexts",
        gist_id=1,
        start_time="1960",
        start_operator=operator.value,
        end_time="1950",
        end_operator=operator.value,
    )
    assert (request.when.start_operator, request.when.end_operator) == (operator, operator)
    assert request.when.start == parse_iso_date("1960", UTC)


def test_an_operator_without_its_time_has_no_effect():
    assert meant("semantic_retrieve", query="x", start_operator="lt").when is None
    only_end = meant("semantic_retrieve", query="x", start_operator="lt", end_time="1950")
    assert only_end == meant("semantic_retrieve", query="x", end_time="1950")


def test_all_arguments_of_find_entity_contexts_are_read():
    request = meant(
        "find_entity_contexts",
        subject="E1",
        object="E2",
        predicate="was the R3 of",
        limit=2,
        ordering="desc",
        offset=4,
        aggregation="count_unique_objects",
    )
    assert request == ToolCall(
        tool=Tool.ENTITY,
        subject="E1",
        predicate="was the R3 of",
        object="E2",
        limit=2,
        ordering=Ordering.DESC,
        offset=4,
        aggregation=Aggregation.OBJECTS,
    )


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_what_is_empty_counts_as_left_out(empty):
    request = meant("find_entity_contexts", subject="E1", object=empty, limit=empty, ordering=empty, end_time=empty)
    assert request == ToolCall(tool=Tool.ENTITY, subject="E1")


@pytest.mark.parametrize("three", [3, 3.0, "3", " 3 "])
def test_a_number_may_be_written_as_text_or_with_a_point(three):
    assert meant("find_entity_contexts", subject="E1", limit=three, offset=three).limit == 3
    assert meant("find_gist_contexts", gist_id=three).gist == 3


def test_a_year_may_be_a_number_and_an_answer_too():
    assert meant("semantic_retrieve", query="x", start_time=1950) == meant(
        "semantic_retrieve", query="x", start_time="1950"
    )
    assert meant("output_answer", answer=42).answer == "42"


def test_a_gist_may_be_named_by_its_items_id():
    assert meant("find_gist_contexts", gist_id="gist:ab12").gist == "gist:ab12"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("recall", {"query": "x"}, "there is no tool 'recall'; there are: semantic_retrieve, lexical_retrieve, find"),
        ("semantic_retrieve", {"query": "x", "limit": 3}, "no argument 'limit'; it takes: query, start_time"),
        ("semantic_retrieve", {}, "semantic_retrieve needs query"),
        ("lexical_retrieve", {"query": "  "}, "lexical_retrieve needs query"),
        ("find_gist_contexts", {"start_time": "1950"}, "find_gist_contexts needs gist_id"),
        ("output_answer", {"answer": None}, "output_answer needs answer"),
        ("find_entity_contexts", {"limit": 1}, "needs at least one of subject, predicate, object"),
        ("semantic_retrieve", {"query": ["x"]}, "query is ['x']; it is text"),
        ("semantic_retrieve", {"query": True}, "query is True; it is text"),
        ("semantic_retrieve", {"query": "x", "start_time": "soon"}, "start_time: 'soon' is no time that can be read"),
        ("semantic_retrieve", {"query": "x", "end_time": "2023-02-30"}, "end_time: '2023-02-30' is no time"),
        ("semantic_retrieve", {"query": "x", "end_time": "1950", "end_operator": "<"}, "one of: lt, le, eq, ge, gt"),
        ("semantic_retrieve", {"query": "x", "end_operator": "between"}, "end_operator is 'between'; it is one of"),
        ("find_entity_contexts", {"subject": "E1", "ordering": "up"}, "ordering is 'up'; it is one of: asc, desc"),
        ("find_entity_contexts", {"subject": "E1", "aggregation": "sum"}, "one of: count, count_unique_subjects"),
        ("find_entity_contexts", {"subject": "E1", "limit": 0}, "limit is 0; it is at least 1"),
        ("find_entity_contexts", {"subject": "E1", "offset": -1}, "offset is -1; it is at least 0"),
        ("find_entity_contexts", {"subject": "E1", "limit": "many"}, "limit is 'many'; it is a whole number"),
        ("find_entity_contexts", {"subject": "E1", "limit": 1.5}, "limit is 1.5; it is a whole number"),
        ("find_entity_contexts", {"subject": "E1", "limit": True}, "limit is True; it is a whole number"),
        ("find_gist_contexts", {"gist_id": {"n": 1}}, "gist_id is {'n': 1}; it is text"),
    ],
)
def test_a_correction_says_what_is_wrong_and_what_can_be_written(tool, arguments, said):
    assert said in problem(tool, **arguments)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("1955", "1955"),
        ("2023-05", "May 2023"),
        ("2023-05-07", "7 May 2023"),
        ("20 January 2025", "20 January 2025"),
        ("January 20, 2025", "20 January 2025"),
        ("May 2023", "May 2023"),
        ("1950s", "1950s"),
        ("the 1950s", "1950s"),
        ("spring 2021", "spring 2021"),
        ("last week", "week of 27 May 2024"),
        ("from 1950 to 1960", "1950–1960"),
        ("20 January 2025, 2:28 pm", "20 January 2025, 14:28"),
        ("8 May 2023, 12:05 am", "8 May 2023, 00:05"),
        ("8 May 2023, 12:05 pm", "8 May 2023, 12:05"),
        ("8 May 2023, 17:40", "8 May 2023, 17:40"),
    ],
)
def test_times_are_read_as_exactly_as_they_are_written(text, when):
    assert describe_interval(read_time(text, NOW)) == when


@pytest.mark.parametrize(
    "text", ["", "soon", "t1", "5/7/2023", "since 2019", "1950 or so", "10000", "the day she left", "May 2023, 2:10 pm"]
)
def test_what_is_no_stretch_of_time_is_not_read(text):
    with pytest.raises(ValueError, match="is no time that can be read"):
        read_time(text, NOW)


@pytest.mark.parametrize(
    "text", ["8 May 2023, 13:05 pm", "8 May 2023, 0:05 am", "8 May 2023, 25:00", "8 May 2023, 9:61"]
)
def test_a_time_of_day_that_does_not_exist_is_not_read(text):
    with pytest.raises(ValueError, match="is no time"):
        read_time(text, NOW)


def test_dates_are_in_the_zone_of_the_question():
    assert read_time("1955", NOW.astimezone(EAST)) == parse_iso_date("1955", EAST)
    assert read_time("May 2023", NOW.astimezone(EAST)) == parse_iso_date("2023-05", EAST)


@pytest.mark.parametrize(
    "text",
    [
        "20 January 2025, 2:28 pm",
        "2025-01-20T14:28",
        "2025-01-20 14:28 ",
        "2025-01-20T14:28Z",
        "2025-01-20T14:28+00:00",
    ],
)
def test_a_minute_is_a_minute_long(text):
    """As gists show it: what was told at 14:28:40 was told at 14:28."""
    assert read_time(text, NOW) == Interval(
        start=datetime(2025, 1, 20, 14, 28, tzinfo=UTC),
        end=datetime(2025, 1, 20, 14, 29, tzinfo=UTC),
        precision=Precision.INSTANT,
    )


def test_a_second_is_no_minute():
    assert read_time("2025-01-20T14:28:40+00:00", NOW) == parse_iso_date("2025-01-20T14:28:40", UTC)


@drawn(st.dates(min_value=date(1500, 1, 1), max_value=date(2099, 12, 31)), st.sampled_from("dmy"))
def test_a_time_as_observations_show_it_can_be_given_back(day, precision):
    iso = {"d": day.isoformat(), "m": day.isoformat()[:7], "y": day.isoformat()[:4]}[precision]
    shown = describe_interval(parse_iso_date(iso, UTC))
    assert read_time(shown, NOW) == parse_iso_date(iso, UTC)


_VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.sampled_from(["1950", "lt", "asc", "count", "1", "\ud800", "2023-13"]),
    st.lists(st.text(), max_size=2),
    st.dictionaries(st.text(), st.integers(), max_size=2),
)
_NAMES = st.sampled_from(sorted({one.name for tool in TOOLS for one in tool.arguments} | {"relation", ""}))


@drawn(st.one_of(st.sampled_from([one.value for one in Tool]), st.text()), st.dictionaries(_NAMES, _VALUE))
def test_whatever_is_written_is_understood_or_corrected(tool, arguments):
    request = None
    with suppress(InvalidCall):
        request = parse_call(tool, arguments, NOW)
    if request is not None:
        assert request.tool == tool
        hash(request)  # repeated calls are known by it
        "".join((request.query, request.subject, request.predicate, request.object, request.answer)).encode()
