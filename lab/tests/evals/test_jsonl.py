import json
import re
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest

from recollect.errors import InvalidInput, MalformedLine
from recollect_lab.datasets import LOADERS, load_dataset
from recollect_lab.datasets.jsonl import FIELDS, load_jsonl

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "eval-formats.md"
SESSION = {"type": "session", "id": "s", "at": "2024-05-01T10:00:00Z"}
MESSAGE = {"type": "message", "id": "m", "session": "s", "speaker": "Ann", "text": "hello"}
QUESTION = {"type": "question", "id": "q", "text": "who?", "category": "easy", "evidence": ["m"]}


@pytest.fixture
def read(tmp_path):
    def read(*rows):
        path = tmp_path / "talk.jsonl"
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
        return load_jsonl(path)

    return read


def test_the_smallest_file(read):
    dataset = read(SESSION, MESSAGE, QUESTION)
    (conversation,) = dataset.conversations
    (message,) = conversation.sessions[0].messages
    (question,) = conversation.questions
    assert (dataset.name, dataset.place) == ("talk", "message")
    assert (message.id, message.speaker, message.role, message.text) == ("m", "Ann", "user", "hello")
    assert message.at == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert (question.evidence, question.sessions, question.at, question.answer) == (("m",), ("s",), None, "")


def test_lines_may_come_in_any_order_and_sessions_are_sorted_by_time(read):
    later = {**SESSION, "id": "t", "at": "2024-04-01T10:00:00+02:00"}
    dataset = read(QUESTION, MESSAGE, "", SESSION, later, {"type": "dataset", "name": "mine", "place": "exchange"})
    assert [session.id for session in dataset.conversations[0].sessions] == ["t", "s"]
    assert (dataset.name, dataset.place) == ("mine", "exchange")


def test_messages_keep_their_own_time_or_get_a_second_each(read):
    rows = [{**MESSAGE, "id": f"m{i}"} for i in range(3)]
    rows[1]["at"] = "2024-05-01T11:30:00Z"
    first, own, third = read(SESSION, *rows).conversations[0].sessions[0].messages
    assert own.at == datetime(2024, 5, 1, 11, 30, tzinfo=UTC)
    assert third.at - first.at == timedelta(seconds=2)


def test_messages_may_be_pinned(read):
    pins = [{"important": True}, {"important": False}, {"important": None}, {}]
    rows = [{**MESSAGE, "id": f"m{n}", **pin} for n, pin in enumerate(pins)]
    said = read(SESSION, *rows).conversations[0].sessions[0].messages
    assert [message.important for message in said] == [True, False, False, False]


def test_conversations_are_apart(read):
    both = [{**row, "conversation": name} for name in ("a", "b") for row in (SESSION, MESSAGE, QUESTION)]
    dataset = read(*both)
    assert [conversation.id for conversation in dataset.conversations] == ["a", "b"]
    assert [len(conversation.questions) for conversation in dataset.conversations] == [1, 1]


def test_roles_captions_answers_and_nulls(read):
    message = {**MESSAGE, "role": "assistant", "captions": ["a door"], "at": None}
    dataset = read(SESSION, message, {**QUESTION, "answer": "Ann", "at": "2024-06-01T00:00:00Z"})
    (got,) = dataset.conversations[0].sessions[0].messages
    assert (got.role, got.captions) == ("assistant", ("a door",))
    assert dataset.conversations[0].questions[0].answer == "Ann"


def test_a_line_separator_inside_a_string_ends_no_line(read):
    row = json.dumps({**MESSAGE, "text": "one\u2028two"}, ensure_ascii=False)
    assert read(SESSION, row).conversations[0].sessions[0].messages[0].text == "one\u2028two"


@pytest.mark.parametrize("evidence", [{}, {"evidence": []}])
def test_a_question_without_evidence_is_not_scored(read, evidence):
    bare = {name: value for name, value in QUESTION.items() if name != "evidence"}
    assert read(SESSION, MESSAGE, {**bare, **evidence}).conversations[0].questions[0].unscored == "no evidence"


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        (["{"], 1, "not JSON"),
        (["[]"], 1, "not a JSON object"),
        ([{"id": "s"}], 1, "'type' is missing"),
        ([SESSION, {"type": "turn"}], 2, "unknown type 'turn'"),
        ([SESSION, {**MESSAGE, "caption": "x"}], 2, "unknown field 'caption'"),
        ([{"type": "session", "id": "s"}], 1, "'at' is missing"),
        ([{**SESSION, "at": "2024-05-01T10:00:00"}], 1, "no zone"),
        ([{**SESSION, "at": "yesterday"}], 1, "not an ISO 8601 time"),
        ([SESSION, "", {**MESSAGE, "at": "2024-05-01"}], 3, "no zone"),
        ([SESSION, {**QUESTION, "evidence": [], "at": "2024-05-01"}], 2, "no zone"),
        ([SESSION, SESSION], 2, "the session 's' is on line 1 already"),
        ([SESSION, MESSAGE, MESSAGE], 3, "the message 'm' is on line 2 already"),
        ([SESSION, MESSAGE, QUESTION, QUESTION], 4, "the question 'q' is on line 3 already"),
        ([MESSAGE], 1, "no line declares the session 's'"),
        ([SESSION, {**MESSAGE, "conversation": "b"}], 2, "no line declares the session 's'"),
        ([SESSION, {**MESSAGE, "role": "robot"}], 2, "unknown role 'robot'"),
        ([SESSION, {**MESSAGE, "text": " "}], 2, "'text' must be a string"),
        ([SESSION, {**MESSAGE, "id": 7}], 2, "'id' must be a string"),
        ([SESSION, {**MESSAGE, "captions": "a door"}], 2, "'captions' must be a list"),
        ([SESSION, {**MESSAGE, "important": "yes"}], 2, "'important' must be true or false"),
        ([SESSION, MESSAGE, {**QUESTION, "evidence": ["n"]}], 3, "the evidence 'n' names no message"),
        ([{"type": "dataset", "place": "page"}], 1, "'place' must be"),
        ([{"type": "dataset"}, {"type": "dataset"}], 2, "a second line"),
    ],
)
def test_a_bad_line_is_named(read, rows, line, problem):
    with pytest.raises(MalformedLine, match=re.escape(problem)) as caught:
        read(*rows)
    assert caught.value.line == line


def test_the_shipped_sample_is_in_this_format():
    dataset = load_jsonl(Path(str(files("recollect.sample") / "conversation.jsonl")))
    (conversation,) = dataset.conversations
    assert len(conversation.sessions) >= 8
    assert {q.category for q in conversation.questions if q.unscored} == {"unanswerable"}


def test_the_example_in_the_docs_is_in_this_format(read):
    example = re.findall(r"```jsonl\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    dataset = read(*example[0].splitlines())
    assert [question.unscored for question in dataset.conversations[0].questions] == [None, "no evidence"]


@pytest.mark.parametrize("kind", FIELDS)
def test_every_field_is_documented(kind):
    page = PAGE.read_text(encoding="utf-8")
    section = page.split(f"\n`{kind}`:")[1].split("\n`")[0]
    assert set(re.findall(r"^\| `(\w+)` ", section, re.MULTILINE)) == FIELDS[kind] - {"type"}


def test_loaders_go_by_name(tmp_path):
    assert set(LOADERS) == {"jsonl", "locomo", "longmemeval"}
    with pytest.raises(InvalidInput, match="no loader is called 'xml'"):
        load_dataset(tmp_path / "a", kind="xml")
