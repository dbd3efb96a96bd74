import json
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files
from zoneinfo import ZoneInfo

import pytest

from recollect.domain.messages import Role
from recollect.errors import MalformedLine
from recollect.formats import Format
from recollect.formats.jsonl import IGNORED_TYPES

from .conftest import NOW

SESSION = {"type": "session", "id": "s", "at": "2023-07-11T18:05:00+01:00"}
BEGAN = datetime(2023, 7, 11, 17, 5, tzinfo=UTC)


def lines(*rows):
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)


def test_every_field(read):
    row = {
        "type": "message",
        "session": "s",
        "speaker": "Ada",
        "role": "user",
        "text": " hello\n",
        "at": "2023-07-11T18:05:00+01:00",
        "id": "m1",
        "captions": ["a dog", " "],
        "important": True,
        "x_mine": {"any": 1},
    }
    (spoken,) = read(lines(row))
    message = spoken.message
    assert (spoken.session, message.id, message.speaker, message.role) == ("s", "m1", "Ada", Role.USER)
    assert (message.text, message.captions, message.important) == (" hello\n", ("a dog",), True)
    assert message.at == BEGAN
    assert message.at.utcoffset() == timedelta(hours=1)


def test_aliases_and_what_is_left_out(read):
    rows = [
        {"content": "hi", "name": "Ada", "timestamp": 1689095100, "important": False},
        {"text": "ho", "role": "assistant", "id": None, "important": None},
    ]
    first, second = read(lines(*rows))
    assert (first.message.speaker, first.message.text, first.message.at) == ("Ada", "hi", BEGAN)
    assert (second.message.speaker, second.message.role, second.message.at) == ("assistant", Role.ASSISTANT, NOW)
    assert first.session == second.session == "2023-07-11"
    assert (first.message.important, second.message.important) == (False, False)
    assert second.message.id.startswith("m")
    assert read(lines({"text": "x", "created_at": 1689095100.5}))[0].message.at == BEGAN + timedelta(seconds=0.5)


def test_sessions_give_times(read):
    rows = [SESSION, {"text": "a"}, {"text": "b", "session": "t"}, {"text": "c", "session": "s"}]
    a, b, c = read(lines(*rows))
    assert (a.session, a.message.at) == ("s", BEGAN)
    assert (b.session, b.message.at) == ("t", NOW)
    assert (c.session, c.message.at) == ("s", BEGAN + timedelta(seconds=1))


def test_a_session_that_is_given_overrides(read):
    (spoken,) = read(lines(SESSION, {"text": "a"}), session="mine")
    assert (spoken.session, spoken.message.at) == ("mine", BEGAN)


def test_the_day_of_the_first_message_is_its_own_zones(read):
    assert read(lines({"text": "a", "at": "2023-07-11T00:30:00+02:00"}))[0].session == "2023-07-11"
    night = {"text": "a", "at": 1689030000}
    assert read(lines(night), zone=ZoneInfo("Asia/Tokyo"))[0].session == "2023-07-11"
    assert read(lines(night), zone=timezone(-timedelta(hours=9)))[0].session == "2023-07-10"


def test_naive_times_are_in_the_zone_given(read):
    (spoken,) = read(lines({"text": "a", "at": "2023-07-11 18:05"}), zone=ZoneInfo("Europe/London"))
    assert spoken.message.at == BEGAN


def test_what_else_is_let_through(read):
    text = '\ufeff{"text": "tab\there \\u0000 \\ud83d\\ude00 \\ud800 \u202bשלום\u2028"}\r\n\r\n\ufeff{"text": "b"}\r\n'
    first, second = read(text)
    assert first.message.text == "tab\there \0 😀 \ufffd \u202bשלום\u2028"
    assert second.message.text == "b"


def test_surrogates_are_replaced_everywhere(read):
    row = {"text": "", "speaker": "a\udc00", "session": "\ud800", "id": "\ud800", "captions": ["\udfff"]}
    (spoken,) = read(lines(row))
    message = spoken.message
    assert (spoken.session, message.speaker, message.id, message.captions) == (
        "\ufffd",
        "a\ufffd",
        "\ufffd",
        ("\ufffd",),
    )


def test_the_evaluations_files_are_read(read):
    text = files("recollect").joinpath("sample", "conversation.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    spoken = read(text, zone=None)
    assert [one.message.id for one in spoken] == [row["id"] for row in rows if row["type"] == "message"]
    assert {row["type"] for row in rows} <= {"message", "session"} | IGNORED_TYPES


GOOD = {"text": "a"}
BAD = {
    "no JSON": ("{text: 1}", "not JSON: .* at column 2"),
    "no object": ("[1]", "not a JSON object but"),
    "deep": ('{"text": ' + "[" * 100_000, "nested too deeply"),
    "long number": ('{"x_": ' + "9" * 5000 + "}", "4300"),
    "key twice": ('{"text": "a", "text": "b"}', "'text' stands twice"),
    "unknown key": ({**GOOD, "speeker": "Ada"}, "unknown key 'speeker'; did you mean 'speaker'"),
    "quite unknown key": ({**GOOD, "zzzz": 1}, "unknown key 'zzzz'; known here are .*x_"),
    "unknown type": ({**GOOD, "type": "note"}, "unknown type 'note'"),
    "unknown role": ({**GOOD, "role": "boss"}, "unknown role 'boss'; known are user"),
    "no text": ({"speaker": "Ada"}, "'text' is missing"),
    "blank text": ({"text": " "}, "'text' is blank"),
    "two texts": ({"text": "a", "content": "b"}, "both 'text' and 'content'"),
    "text of another kind": ({"text": ["a"]}, "'text' must be a string, not"),
    "id of another kind": ({**GOOD, "id": 7}, "'id' must be a string, not 7"),
    "blank session": ({**GOOD, "session": ""}, "'session' is blank"),
    "importance": ({**GOOD, "important": "yes"}, "'important' must be true or false, not"),
    "important as a number": ({**GOOD, "important": 1}, "'important' must be true or false, not 1"),
    "captions": ({**GOOD, "captions": "a dog"}, "'captions' must be a list"),
    "no time": ({**GOOD, "at": "yesterday"}, "no ISO 8601 time: 'yesterday'"),
    "surrogate time": ({**GOOD, "at": "2023-07-11T18:\ud8005"}, "no ISO 8601 time"),
    "boolean time": ({**GOOD, "at": True}, "a time must be"),
    "naive time": ({**GOOD, "at": "2023-07-11T18:05"}, "has no zone; write one"),
    "milliseconds": ({**GOOD, "at": 1689095100000}, "divide milliseconds by 1000"),
    "not a number": ('{"text": "a", "at": NaN}', "no time: nan"),
    "long ago": ({**GOOD, "at": -1e11 + 1}, "no time: "),
    "end of the calendar": ({**GOOD, "at": "0001-01-01T00:00:00+14:00"}, "end of the calendar"),
    "session without time": ({"type": "session", "id": "s"}, "'at' is missing"),
    "session without id": ({"type": "session", "at": SESSION["at"]}, "'id' is missing"),
    "key of a session": ({**SESSION, "text": "a"}, "unknown key 'text'"),
}


@pytest.mark.parametrize(("row", "problem"), BAD.values(), ids=BAD)
def test_a_bad_line_is_refused_with_its_number(read, row, problem):
    with pytest.raises(MalformedLine, match=rf"^line 3: .*{problem}") as caught:
        read(lines(GOOD, "", row), zone=None, format=Format.JSONL)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"text": "a", "session": "s"}, SESSION], "needs? its time; put it first|need its time; put it first"),
        ([SESSION, {**SESSION, "at": "2023-07-12T00:00:00Z"}], "already with another time"),
        ([{"text": "a", "conversation": "c"}, {"text": "b", "conversation": "d"}], "a second conversation, 'd'"),
        ([{"text": "a", "conversation": "c"}, {"text": "b"}], "a second conversation"),
    ],
)
def test_lines_that_do_not_go_together(read, rows, problem):
    with pytest.raises(MalformedLine, match=problem) as caught:
        read(lines(*rows))
    assert caught.value.line == 2


def test_a_session_line_may_be_repeated_and_may_come_late_where_nothing_needs_it(read):
    timed = {"text": "a", "session": "s", "at": SESSION["at"]}
    assert len(read(lines(timed, SESSION, SESSION, timed))) == 2
