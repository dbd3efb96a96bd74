import json
from datetime import UTC, datetime, timedelta

import pytest

from recollect.domain.messages import Role
from recollect.errors import InvalidInput, MalformedLine
from recollect.formats import Format

from .conftest import NOW


@pytest.fixture
def messages(read):
    return lambda *rows, **options: [one.message for one in read(json.dumps(rows), format=Format.OPENAI, **options)]


def user(*parts):
    return {"role": "user", "content": list(parts)}


def test_roles_and_speakers(messages):
    roles = ["system", "developer", "user", "assistant", "tool", "function"]
    got = messages(*({"role": role, "content": "x"} for role in roles))
    assert [message.speaker for message in got] == roles
    assert [message.role for message in got] == [
        Role.SYSTEM,
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.SYSTEM,
        Role.SYSTEM,
    ]
    assert messages({"role": "user", "name": "Ada", "content": "x"})[0].speaker == "Ada"
    assert messages({"role": "user", "name": "", "content": "x"})[0].speaker == "user"


def test_calls_and_results_are_kept(messages):
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"city": "York"}'}},
        {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
        {"odd": 1},
    ]
    call, result, named, stray = messages(
        {"role": "assistant", "content": "Let me see.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "function", "name": "shell", "content": "a.txt"},
        {"role": "tool", "tool_call_id": "c9", "content": "?"},
    )
    assert call.text == 'Let me see.\nlookup({"city": "York"})\nshell(ls)\n{"odd": 1}'
    assert [one.speaker for one in (result, named, stray)] == ["lookup", "shell", "tool"]
    old = messages({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": {"a": "é"}}})
    assert old[0].text == 'f({"a": "é"})'


def test_parts(messages):
    picture = {
        "type": "image_url",
        "image_url": {"url": "http://x", "detail": "high", "alt": "a dog"},
        "caption": "Toby",
    }
    sound = {"type": "input_audio", "input_audio": {"data": "...", "transcript": "woof"}}
    file = {"type": "file", "file": {"filename": "toby.pdf"}}
    nested = {"type": "text", "text": {"value": "deep"}}
    (message,) = messages(user("plain", {"type": "text", "text": "two"}, nested, picture, sound, file))
    assert message.text == "plain\ntwo\ndeep\nwoof"
    assert message.captions == ("Toby", "a dog", "toby.pdf")


def test_attachments_without_words(messages):
    silent = {"type": "image_url", "image_url": {"url": "http://x", "detail": "low"}}
    only, with_text = messages(user(silent, silent), user(silent, "look"))
    assert (only.text, only.captions) == ("[image_url] [image_url]", ())
    assert (with_text.text, with_text.captions) == ("look", ())
    (described,) = messages(user({"type": "image_url", "image_url": {"detail": "a brown dog"}}))
    assert (described.text, described.captions) == ("", ("a brown dog",))


def test_refusals_and_spoken_answers(messages):
    refused, spoken = messages(
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello."}},
    )
    assert (refused.text, spoken.text) == ("I cannot.", "Hello.")
    assert messages({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})[0].text == "No."


def test_nothing_said_is_passed_over(messages):
    assert (
        messages(
            {"role": "assistant", "content": ""}, {"role": "user", "content": []}, {"role": "user", "content": None}
        )
        == []
    )


def test_an_object_names_its_session_and_its_time(read):
    document = {
        "id": "trip",
        "created_at": 1689095100,
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "id": "own"},
            {"role": "user", "content": "c", "at": "2023-07-12T10:00:00Z"},
            {"role": "user", "content": "d"},
        ],
    }
    spoken = read(json.dumps(document))
    began = datetime(2023, 7, 11, 17, 5, tzinfo=UTC)
    later = datetime(2023, 7, 12, 10, tzinfo=UTC)
    assert {one.session for one in spoken} == {"trip"}
    assert spoken[1].message.id == "own"
    second = timedelta(seconds=1)
    assert [one.message.at for one in spoken] == [began, began + second, later, later + second]


def test_a_list_without_times_is_of_now(read):
    (spoken,) = read('[{"role": "user", "content": "a"}]')
    assert (spoken.session, spoken.message.at) == (NOW.date().isoformat(), NOW)


GOOD = {"role": "user", "content": "a"}
BAD = {
    "no object": ("hi", "not an object but 'hi'"),
    "no role": ({"content": "a"}, "'role' is missing"),
    "unknown role": ({"role": "boss", "content": "a"}, "unknown role 'boss'"),
    "no content": ({"role": "user"}, "'content' is missing"),
    "content of another kind": ({"role": "user", "content": 7}, "'content' must be a string or a list"),
    "part of another kind": (user(7), r"content\[0\] must be a part"),
    "unknown part": (user("a", {"type": "video"}), r"content\[1\] is of unknown type 'video'"),
    "list for a type": (user({"type": []}), r"content\[0\] is of unknown type"),
    "dict for a type": (user({"type": {}}), r"content\[0\] is of unknown type"),
    "text without text": (user({"type": "text"}), r"content\[0\] has no string under 'text'"),
    "calls": ({"role": "assistant", "tool_calls": {}}, "'tool_calls' must be a list"),
    "naive time": ({**GOOD, "created_at": "2023-07-11"}, "has no zone"),
}


@pytest.mark.parametrize(("row", "problem"), BAD.values(), ids=BAD)
def test_a_bad_element_is_refused_with_its_index(messages, row, problem):
    with pytest.raises(InvalidInput, match=rf"^messages\[1\]: .*{problem}"):
        messages(GOOD, row, zone=None)


@pytest.mark.parametrize("text", ["7", '{"messages": 7}', "{}", '{"messages": null}'])
def test_a_document_without_messages_is_refused(read, text):
    with pytest.raises(InvalidInput, match="document"):
        read(text, format=Format.OPENAI)


def test_broken_json_is_refused_with_its_line(read):
    with pytest.raises(MalformedLine, match="not JSON") as caught:
        read('\n[\n{"role": "user"\n"content": 1}]')
    assert caught.value.line == 4
