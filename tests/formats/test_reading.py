import contextlib
import io
import itertools
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, MalformedLine, NaiveDatetime
from recollect.formats import Format, read_messages
from recollect.formats.chat import HEAD_LINES
from recollect.formats.jsonl import MESSAGE_FIELDS
from recollect.formats.utterances import ROLES, make_message_id

from .conftest import NOW

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "input-formats.md").read_text(encoding="utf-8")


def test_the_page_names_every_field_and_role():
    for name in (*MESSAGE_FIELDS, *ROLES, *Format):
        assert f"`{name}`" in PAGE


@pytest.mark.parametrize(("kind", "count"), [("jsonl", 3), ("json", 5), ("text", 4)])
def test_the_pages_examples_are_read(read, kind, count):
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    assert len(read(found[0])) == count


def test_the_pages_times(read):
    timed = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[1]
    assert [one.message.at.day for one in read(timed)] == [11, 11, 13]


def test_an_empty_input_holds_nothing(read):
    assert read("") == read(" \n\n") == read("\ufeff") == []
    assert read("[]") == []


# What may not be read.


def test_now_needs_a_zone():
    with pytest.raises(NaiveDatetime, match="now"):
        read_messages([], now=datetime(2024, 5, 1))  # noqa: DTZ001


def test_a_string_is_no_stream():
    with pytest.raises(InvalidInput, match="splitlines"):
        read_messages("Ada: hi", now=NOW)


def test_a_blank_session_is_refused():
    with pytest.raises(InvalidInput, match="session"):
        read_messages([], session=" ", now=NOW)


def test_bytes_are_refused(read):
    with pytest.raises(InvalidInput, match="line 1: bytes instead of text"):
        list(read_all(io.BytesIO(b"Ada: hi")))


def read_all(stream):
    return read_messages(stream, now=NOW)


def test_another_encoding_is_refused():
    stream = io.TextIOWrapper(io.BytesIO("Ada: caf\xe9".encode("latin-1")), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"not utf-8 .*UTF-8"):
        list(read_all(stream))


# Streaming.


def endless(lines, taken):
    for line in lines:
        taken.append(line)
        yield line


def test_json_lines_are_read_no_further_than_asked():
    taken = []
    stream = read_messages(endless((f'{{"text": "{n}"}}' for n in itertools.count()), taken), now=NOW)
    assert taken == []
    assert [next(stream).message.text for _ in range(3)] == ["0", "1", "2"]
    assert len(taken) == 3


def test_a_chat_is_read_a_head_and_then_a_line_ahead():
    taken = []
    stream = read_messages(endless((f"Ada: {n}" for n in itertools.count()), taken), now=NOW)
    assert next(stream).message.text == "0"
    assert len(taken) == HEAD_LINES
    for _ in range(HEAD_LINES):
        next(stream)
    assert len(taken) == HEAD_LINES + 2


def test_what_stands_before_a_bad_line_is_given():
    stream = read_messages(['{"text": "a"}\n', "oops\n"], now=NOW)
    assert next(stream).message.text == "a"
    with pytest.raises(MalformedLine, match="line 2"):
        next(stream)


# Ids.


def ids(read, text, **options):
    return [one.message.id for one in read(text, **options)]


def test_an_id_is_made_of_the_message_alone():
    parts = {"session": "s", "ordinal": 0, "speaker": "Ada", "stamp": "", "text": "hi"}
    assert make_message_id(**parts) == "maef02783d87d5415"
    others = [{**parts, name: value} for name, value in [("session", "t"), ("ordinal", 1), ("speaker", "B")]]
    others += [{**parts, "stamp": "x"}, {**parts, "text": "ho"}, {**parts, "speaker": "Ad", "stamp": "a"}]
    assert len({make_message_id(**other) for other in [parts, *others]}) == 7


@pytest.mark.parametrize(
    "text",
    [
        "[2023-07-11 18:05] Ada: ok\n[2023-07-11 18:05] Ada: ok\n[2023-07-11 18:06] Ada: ok\n",
        '{"text": "ok", "session": "s"}\n{"text": "ok", "session": "s"}\n{"text": "ok", "session": "t"}\n',
        '{"text": "ok", "at": 1689095100}\n{"text": "ok"}\n{"text": "ok"}\n',
    ],
)
def test_a_file_read_again_or_grown_gives_the_same_ids(read, text):
    before = ids(read, text)
    assert len(set(before)) == 3
    assert ids(read, text, now=datetime(2030, 1, 1, tzinfo=UTC)) == before
    assert ids(read, text + text)[:3] == before
    assert not set(ids(read, text + text)[3:]) & set(before)


def test_an_id_depends_on_the_session_and_not_on_the_zone(read):
    text = "[2023-07-11 18:05] Ada: ok"
    assert ids(read, text, session="a") != ids(read, text, session="b")
    assert ids(read, text, session="a", zone=UTC) == ids(read, text.replace("\n", "\r\n"), session="a")


# Any text at all.

anything = st.text(st.characters(), max_size=60)
chatty = st.lists(
    st.one_of(
        anything,
        st.builds("{}: {}".format, st.sampled_from(["Ada", "Note", "AI", "x y"]), anything),
        st.builds(
            "{}{}/{}/{}, {}:{}{}Ada: hi".format,
            st.sampled_from(["", "["]),
            st.integers(0, 40),
            st.integers(0, 14),
            st.integers(0, 99999),
            st.integers(0, 30),
            st.integers(0, 99),
            st.sampled_from([" - ", "] ", " pm - ", "Z] ", "+99:99 - "]),
        ),
        st.builds("# {:04}-{:02}-{:02}".format, st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32)),
    )
).map("\n".join)
KEYS = [*sorted(MESSAGE_FIELDS), "tool_calls", "function_call", "function", "arguments", "image_url", "alt", "messages"]
value = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), anything, st.datetimes().map(str)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=12,
)
part = st.fixed_dictionaries({"type": st.sampled_from(["text", "file", "audio", "x"]), "text": value})
row = st.dictionaries(st.sampled_from(KEYS), value, max_size=5) | st.fixed_dictionaries(
    {"role": st.sampled_from(list(ROLES)), "content": value | st.lists(part)},
    optional={"at": value, "tool_calls": value, "name": value},
)
inputs = anything | chatty | st.lists(row).map(json.dumps) | st.lists(row.map(json.dumps)).map("\n".join)


@given(text=anything.filter(str.strip), speaker=anything.filter(str.strip), caption=anything.filter(str.strip))
def test_any_text_comes_through_json_lines(read, text, speaker, caption):
    line = json.dumps({"text": text, "speaker": speaker, "captions": [caption]}, ensure_ascii=len(text) % 2 == 0)
    (spoken,) = read(line, format=Format.JSONL)
    got = (spoken.message.text, spoken.message.speaker, *spoken.message.captions)
    assert got == tuple(re.sub("[\ud800-\udfff]", "\ufffd", one) for one in (text, speaker, caption))


@given(text=inputs, format=st.sampled_from([None, *Format]), zone=st.sampled_from([None, UTC]))
def test_any_input_is_read_or_refused(read, text, format, zone):  # noqa: A002
    try:
        spoken = read(text, format=format, zone=zone)
    except InvalidInput:
        return
    for one in spoken:
        assert one.session
        assert one.message.speaker
        assert one.message.text or one.message.captions
        one.message.at.astimezone(UTC)
        "".join((one.session, one.message.id, one.message.speaker, one.message.text, *one.message.captions)).encode()
    assert spoken == read(text, format=format, zone=zone)


@pytest.mark.parametrize("depth", [*range(850, 1000), 5000])
def test_deep_nesting_is_read_or_refused(read, depth):
    deep = "[" * depth + "]" * depth
    for text in (f'{{"text": {deep}}}', f'[{{"role": "assistant", "tool_calls": {deep}}}]'):
        with contextlib.suppress(InvalidInput):
            assert read(text)


@given(tail=st.lists(st.text(st.characters(categories=["L", "N", "S", "Zs"]), max_size=20)))
def test_no_line_of_a_chat_is_lost(read, tail):
    (spoken,) = read("\n".join(["Ada: begin", *tail]), format=Format.CHAT)
    assert spoken.message.text == "\n".join(["begin", *tail]).strip()
