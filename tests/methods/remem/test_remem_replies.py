"""What the indexing model may answer, and how its words become gists and triples."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from indexing_bank import NOW, fact, gist

from recollect.domain.messages import Role, StoredMessage
from recollect.domain.time import Precision
from recollect.methods.remem.extraction_replies import MOST_FACTS, MOST_GISTS, ExtractedGists, ExtractedTriples
from recollect.methods.remem.facts import make_triples
from recollect.methods.remem.gists import make_gists, stamp_text
from recollect.retain.chunks import Chunk
from recollect.text.time_expressions.iso import parse_iso_date

ZONE = timezone(timedelta(hours=2))
AT = datetime(2025, 1, 20, 14, 28, tzinfo=ZONE)


def message(position, text="Words.", **more):
    how = {"speaker": "Ada", "role": Role.USER, "captions": (), "at": AT + timedelta(hours=position), "recorded": NOW}
    return StoredMessage(id=f"m{position}", session="s", position=position, text=text, **{**how, **more})


def chunk(*messages, context=()):
    return Chunk(
        context=context, messages=messages or (message(0), message(1)), tokens=30, agent="Iris", names_agent=True
    )


def gists(*told, of=None):
    return make_gists(ExtractedGists(gists=told), of or chunk(), NOW)


def triples(*told, of=None):
    return make_triples(ExtractedTriples(facts=told), of or chunk(), NOW)


@pytest.mark.parametrize(
    ("hour", "minute", "shown"),
    [(14, 28, "2:28 pm"), (0, 5, "12:05 am"), (12, 0, "12:00 pm"), (11, 59, "11:59 am"), (23, 1, "11:01 pm")],
)
def test_a_gist_begins_with_the_moment_of_its_message(hour, minute, shown):
    assert stamp_text("Ada rose.", AT.replace(hour=hour, minute=minute)) == f"[20 January 2025, {shown}] Ada rose."


@pytest.mark.parametrize(
    "text",
    ["Ada rose.", "[20 January 2025, 2:28 pm] Ada rose.", " [3] [2025-01-19]  Ada rose. ", "Ada\n rose."],
)
def test_the_time_is_ours_whatever_the_model_sets_before_it(text):
    (item,) = gists(gist(text, 1))
    assert item.text == "[20 January 2025, 2:28 pm] Ada rose."


def test_other_brackets_are_left_alone():
    (item,) = gists(gist("[Toby] sleeps [sic].", 1))
    assert item.text == "[20 January 2025, 2:28 pm] [Toby] sleeps [sic]."


def test_brackets_that_are_never_closed_are_read_in_passing():
    (item,) = gists(gist(f"[{'1' * 50_000} Ada rose.", 1))
    assert item.text.endswith("1 Ada rose.")


def test_it_was_said_when_the_last_of_its_messages_was():
    (item,) = gists(gist("Ada rose.", 2, 1, 2))
    assert (item.sources, item.mentioned, item.text[:27]) == (
        ("m1", "m0"),
        AT + timedelta(hours=1),
        "[20 January 2025, 3:28 pm] ",
    )


def test_ids_are_told_by_the_messages_and_not_by_what_is_said():
    first, again, other = gists(gist("One.")), gists(gist("Two.")), gists(gist("One."), of=chunk(message(0)))
    assert first[0].id == again[0].id != other[0].id
    assert triples(fact("a", "b", "c"))[0].id != first[0].id


@pytest.mark.parametrize(
    ("times", "start", "end", "whole"),
    [
        ({}, None, None, None),
        ({"point_in_time": "2024-05-03"}, "2024-05-03", "2024-05-03", (Precision.DAY, 1)),
        ({"start_time": "2024", "end_time": "2025"}, "2024", "2025", (Precision.RANGE, 731)),
        ({"start_time": "2024-02", "end_time": "2024-02"}, "2024-02", "2024-02", (Precision.MONTH, 29)),
        ({"start_time": "2024-05"}, "2024-05", None, (Precision.MONTH, None)),
        ({"end_time": "2024-05"}, None, "2024-05", (Precision.MONTH, None)),
        ({"point_in_time": " ", "start_time": "", "end_time": "2024"}, None, "2024", (Precision.YEAR, None)),
    ],
)
def test_qualifiers_are_kept_as_exact_as_they_are(times, start, end, whole):
    (item,) = triples(fact("Ada", "was", "Queen", 1, **times))
    assert item.triple.start == (start and parse_iso_date(start, ZONE))
    assert item.triple.end == (end and parse_iso_date(end, ZONE))
    held = [(one.interval.precision, one.interval.duration and one.interval.duration.days) for one in item.occurrences]
    assert held == ([whole] if whole else [])


def test_when_it_was_said_is_the_messages_own_time():
    (item,) = triples(fact("Ada", "was", "Queen", 2, point_in_time="1837"))
    assert (item.mentioned, item.recorded) == (AT + timedelta(hours=1), NOW)


def test_times_in_order_by_their_offsets_alone_are_read_by_those():
    (item,) = triples(fact("Ada", "ran", "home", 1, start_time="2024-05-03T23:00Z", end_time="2024-05-04"))
    assert item.triple.start.start == datetime(2024, 5, 3, 23, tzinfo=UTC)
    (item,) = triples(fact("Ada", "ran", "home", 1, start_time="2024-05-03T23:30Z", end_time="2024-05-03"))
    assert item.triple.end == parse_iso_date("2024-05-03", UTC)


def test_phrases_are_on_one_line():
    (item,) = triples(fact(" the  old\nfence ", "fell", "over ", 1))
    assert (item.text, item.triple.subject) == ("the old fence fell over", "the old fence")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: gist(" ... ", 1), "empty"),
        (lambda: gist("Ada rose.", 0), "numbered from 1"),
        (lambda: ExtractedGists(gists=(gist("x", 1),) * (MOST_GISTS + 1)), "too many"),
        (lambda: gist("Ada rose.", 1, start="2024-13"), "2024-13"),
        (lambda: gist("Ada rose.", 1, start="2024", end="2023"), "before it starts"),
        (lambda: fact("", "is", "x", 1), "no subject"),
        (lambda: fact("x", "?", "x", 1), "no predicate"),
        (lambda: fact("x", "is", " ", 1), "no object"),
        (lambda: fact("x", "is", "y", -1), "numbered from 1"),
        (lambda: fact("x", "is", "y", 1, start_time="2024", end_time="2023"), "before it starts"),
        (lambda: fact("x", "is", "y", 1, point_in_time="2024", end_time="2024"), "alone"),
        (lambda: fact("x", "is", "y", 1, point_in_time="May 2024"), "no date"),
        (lambda: ExtractedTriples(facts=(fact("x", "is", "y", 1),) * (MOST_FACTS + 1)), "too many"),
    ],
)
def test_what_no_reply_may_break(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def test_a_reply_without_sources_is_refused():
    from recollect.methods.remem.extraction_replies import ExtractedGist, ExtractedTriple

    with pytest.raises(ValueError, match="no message"):
        ExtractedGist(text="Ada rose.", messages=())
    with pytest.raises(ValueError, match="no message"):
        ExtractedTriple(subject="a", predicate="b", object="c", messages=())
