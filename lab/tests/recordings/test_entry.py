"""A request's key, its tags, and the line that a reply is kept as."""

import hashlib
import json

import pytest
from replay_fakes import PLACE, body_of, entry

from recollect.errors import MalformedLine
from recollect_lab.recordings.recorded_reply import (
    RequestKey,
    compute_key,
    drop_tags,
    dump_reply,
    load_reply,
    read_request_key,
    select_kept,
)

SCHEMA = {"type": "json_schema", "json_schema": {"name": "facts", "schema": {"type": "object"}}}


def test_the_key_is_the_hash_of_what_an_answer_depends_on():
    body = body_of("né?", response_format=SCHEMA, temperature=0.7)
    asked = json.dumps(
        {"messages": body["messages"], "response_format": SCHEMA}, sort_keys=True, ensure_ascii=False
    ).encode()
    assert compute_key(body) == hashlib.sha256(asked).hexdigest()[:16]


@pytest.mark.parametrize(
    "more", [{"model": "other"}, {"temperature": 1}, {"metadata": {"role": "x"}}, {"stream": False}, {"tools": None}]
)
def test_what_an_answer_does_not_depend_on_is_not_in_the_key(more):
    assert compute_key({**body_of(), **more}) == compute_key(body_of())


@pytest.mark.parametrize(
    "more",
    [
        {"messages": [{"role": "user", "content": "Who adopted Toby? "}]},
        {"messages": [{"role": "system", "content": "Who adopted Toby?"}]},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"tool_choice": "none"},
        {"response_format": SCHEMA},
    ],
)
def test_what_an_answer_depends_on_is_in_the_key(more):
    assert compute_key({**body_of(), **more}) != compute_key(body_of())


def test_half_a_pair_of_surrogates_has_a_key_and_a_line():
    kept = entry("broken \ud83d", reply="told \ud83d")
    assert load_reply(dump_reply(kept).decode("utf-8"), 1) == kept


def test_tags_are_read_and_go_no_further():
    body = body_of(temperature=0)
    assert read_request_key(body) == RequestKey(
        key=compute_key(body), role="extract", operation="hindsight.extract", subject="2023-07-11"
    )
    assert drop_tags(body) == {"model": "m", "messages": body["messages"], "temperature": 0}
    assert select_kept({**body, "stream": False}) == {"messages": body["messages"], "temperature": 0}


@pytest.mark.parametrize("tags", [None, "extract", {}, {"role": None}])
def test_a_request_without_tags_has_no_place(tags):
    body = {**body_of(place=None), "metadata": tags}
    assert read_request_key(body).purpose == ("", "", "")
    assert read_request_key(body).key in str(read_request_key(body))


def test_a_line_is_one_line_and_comes_back_whole():
    calls = ({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},)
    kept = entry("two\nlines\u2028three", reply='{"facts": ["é"]}', tool_calls=calls, finish="length")
    line = dump_reply(kept)
    assert line.count(b"\n") == 1
    assert "é".encode() in line
    assert load_reply(line.decode(), 1) == kept
    assert list(json.loads(line))[:5] == ["key", "role", "operation", "subject", "model"]


def test_sizes_are_bytes():
    kept = entry(reply="é")
    assert kept.reply_bytes == 2
    assert kept.request_bytes == len(json.dumps(kept.request))
    assert entry(reply="", tool_calls=({"id": "c"},)).reply_bytes == len('[{"id": "c"}]')


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda cells: cells | {"request": {"messages": []}}, "is not the key of its request"),
        (lambda cells: cells | {"reply": None}, "reply is not a text"),
        (lambda cells: cells | {"request": []}, "request is not an object"),
        (lambda cells: {name: cell for name, cell in cells.items() if name != "subject"}, "subject"),
        (lambda cells: [cells], "not a recorded reply"),
    ],
)
def test_a_line_that_was_spoiled_is_told_with_its_number(change, problem):
    cells = change(json.loads(dump_reply(entry(place=PLACE))))
    with pytest.raises(MalformedLine, match=problem) as caught:
        load_reply(json.dumps(cells), 7)
    assert caught.value.line == 7
