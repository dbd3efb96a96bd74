import json
from datetime import UTC, datetime

import pytest

from recollect.cli.retain import chunk_messages
from recollect.domain.messages import Message
from recollect.errors import MalformedLine
from recollect.formats import SessionMessage


def spoken(session, text):
    return SessionMessage(session=session, message=Message(text=text, at=datetime(2024, 5, 1, tzinfo=UTC)))


def texts(given):
    return [(session, [message.text for message in messages]) for session, messages in given]


def test_messages_come_in_runs_of_a_session():
    given = [spoken("a", "1"), spoken("a", "2"), spoken("b", "3"), spoken("a", "4")]
    assert texts(chunk_messages(given)) == [("a", ["1", "2"]), ("b", ["3"]), ("a", ["4"])]


def test_a_run_has_at_most_so_many_messages():
    given = [spoken("a", str(number)) for number in range(5)]
    assert texts(chunk_messages(given, 2)) == [("a", ["0", "1"]), ("a", ["2", "3"]), ("a", ["4"])]


def test_what_comes_before_a_damaged_line_is_given_first():
    def reading():
        yield spoken("a", "1")
        raise MalformedLine(2, "no JSON")

    given = chunk_messages(reading())
    assert texts([next(given)]) == [("a", ["1"])]
    with pytest.raises(MalformedLine):
        next(given)


def test_a_file_is_kept_and_kept_once(cli, chat):
    first, again = cli("retain", chat), cli("retain", chat)
    assert (first.code, again.code) == (0, 0)
    assert "kept 4 messages in bank default" in first.out
    assert "kept 0 messages (4 there already)" in again.out


def test_the_summary_as_json(cli, chat):
    summary = cli("retain", chat, "--bank", "ada", "--json").json()
    assert summary["bank"] == "ada"
    assert (summary["messages"], summary["skipped"]) == (4, 0)
    assert summary["per_second"] > 0


def test_standard_input_is_read_in_a_pipe(process):
    done = process("retain", "-", "--json", stdin='{"speaker": "Ada", "text": "naïve"}\n'.encode())
    assert (done.code, done.json()["messages"], done.err) == (0, 1, "")


def test_a_malformed_line_stops_with_its_number_and_what_was_kept(cli):
    done = cli("retain", "-", "--session", "s", stdin='{"text": "a"}\n{"text": "b"}\n{"text": \n')
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("error: line 3: ")
    assert done.err.endswith("; 2 messages before it are kept\n")
    assert cli("banks", "--json").json()[0]["messages"] == 2


def test_text_is_kept_as_it_is(cli):
    assert cli("retain", "-", "--format", "jsonl", stdin='{"text": "a\\r\\nb", "speaker": "Ada"}\r\n').code == 0
    assert cli("recall", "b", "--json").json()["evidence"][0]["text"] == "a\r\nb"


def pinned(cli):
    lines = map(json.loads, cli("export", "-").out.splitlines())
    return [(line["text"], line["important"]) for line in lines if line["type"] == "message"]


def test_every_message_or_one_is_pinned(cli):
    rows = '{"text": "a", "session": "s"}\n{"text": "b", "session": "s", "important": true}\n'
    assert cli("retain", "-", stdin=rows).code == 0
    assert pinned(cli) == [("a", False), ("b", True)]
    more = '{"text": "a", "session": "s"}\n{"text": "c", "session": "s"}\n'
    assert "1 there already" in cli("retain", "-", "--important", stdin=more).out
    assert pinned(cli) == [("a", False), ("b", True), ("c", True)]


def test_session_format_and_zone_are_taken(cli):
    line = '{"text": "late", "at": "2023-07-11T23:30"}\n'
    assert cli("retain", "-", "--session", "trip", "--zone", "-05:00", stdin=line).code == 0
    (evidence,) = cli("recall", "late", "--json").json()["evidence"]
    assert evidence["session"] == "trip"
    assert datetime.fromisoformat(evidence["mentioned"]) == datetime(2023, 7, 12, 4, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--format", "csv"), ("--zone", "Atlantis/Sea"), ("--embedder", "glove"), ("--embedder", "st:")],
)
def test_a_value_that_cannot_be_used_is_wrong_usage(cli, chat, option, value):
    done = cli("retain", chat, option, value)
    assert done.code == 2
    assert value in done.err


def test_a_missing_file_is_an_error_and_makes_no_bank(cli):
    done = cli("retain", "nowhere.txt")
    assert (done.code, done.err) == (1, "error: cannot read nowhere.txt: No such file or directory\n")
    assert cli("banks", "--json").json() == []
