import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest

from recollect.errors import InvalidInput
from recollect_lab.datasets.locomo import load_locomo, repair_evidence


def turn(name, speaker="Ann", **more):
    return {"speaker": speaker, "dia_id": name, "text": f"words of {name}", **more}


def asked(text, category, evidence, answer="yes"):
    return {"question": text, "category": category, "evidence": evidence, "answer": answer}


SAMPLE = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_2_date_time": "12:05 am on 9 May, 2023",
        "session_2": [turn("D2:1", "Ben")],
        "session_10_date_time": "3:00 pm on 1 June, 2023",
        "session_10": [turn("D10:1"), turn("D10:2", "Ben")],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            turn("D1:1", blip_caption="a red door", query="door of my new house", img_url=["https://x.org/a.jpg"]),
            turn("D1:2", "Ben"),
        ],
        "session_3": [],
        "session_11_date_time": "3:00 pm on 1 July, 2023",
    },
    "qa": [
        asked("one?", 4, ["D1:1"]),
        asked("two?", 1, ["D1:1; D2:1", "D:10:2"]),
        asked("three?", 2, ["D10:01", "D10:1", "D", "D7:7"], answer=2022),
        asked("four?", 3, []),
        {"question": "five?", "category": 5, "evidence": ["D1:1"], "adversarial_answer": "no"},
        asked("one?", 4, ["D1:2"]),
        asked("five?", 4, ["D1:2"]),
    ],
    "event_summary": {"x": "a summary"},
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "locomo_tiny.json"
    path.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    return path


@pytest.fixture
def conversation(path):
    return load_locomo(path).conversations[0]


def test_sessions_come_in_order_of_time_and_empty_ones_do_not(conversation):
    assert [session.id for session in conversation.sessions] == ["session_1", "session_2", "session_10"]
    assert [session.at for session in conversation.sessions] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 5, 9, 0, 5, tzinfo=UTC),
        datetime(2023, 6, 1, 15, 0, tzinfo=UTC),
    ]


def test_messages_keep_id_speaker_and_order(conversation):
    first, second = conversation.sessions[0].messages
    assert (first.id, first.speaker, first.role, first.text) == ("D1:1", "Ann", "user", "words of D1:1")
    assert (second.id, second.speaker) == ("D1:2", "Ben")
    assert second.at - first.at == timedelta(seconds=1)


def test_captions_are_taken_and_queries_and_addresses_are_not(conversation):
    assert conversation.sessions[0].messages[0].captions == ("a red door",)
    assert "new house" not in repr(conversation)
    assert "x.org" not in repr(conversation)


def test_questions_have_category_answer_and_the_time_of_the_last_message(conversation):
    assert [(q.text, q.category) for q in conversation.questions] == [
        ("one?", "single-hop"),
        ("two?", "multi-hop"),
        ("three?", "temporal"),
        ("four?", "open-domain"),
        ("five?", "single-hop"),
    ]
    assert conversation.questions[2].answer == "2022"
    assert {q.at for q in conversation.questions} == {datetime(2023, 6, 1, 15, 0, 1, tzinfo=UTC)}
    assert len({q.id for q in conversation.questions}) == 5


def test_evidence_is_mended_and_its_sessions_named(conversation):
    assert conversation.questions[1].evidence == ("D1:1", "D2:1", "D10:2")
    assert conversation.questions[1].sessions == ("session_1", "session_2", "session_10")
    assert conversation.questions[2].evidence == ("D10:1",)


def test_what_is_left_out_is_counted(path):
    dataset = load_locomo(path)
    assert dataset.left_out == {"adversarial": 1, "repeated": 1}
    assert dataset.bad_evidence == 2
    assert [q.text for q in dataset.conversations[0].questions if q.unscored == "no evidence"] == ["four?"]
    assert dataset.place == "message"


@pytest.mark.parametrize(
    ("given", "ids", "bad"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17"), 0),
        (["D8:6 D9:17"], ("D8:6", "D9:17"), 0),
        (["D:11:26"], ("D11:26",), 0),
        (["D30:05"], ("D30:5",), 0),
        (["D8:6", "D8:6"], ("D8:6",), 0),
        (["D"], (), 1),
        (["D8:6; D99:1"], ("D8:6",), 1),
        ([], (), 0),
    ],
)
def test_mend_evidence(given, ids, bad):
    known = dict.fromkeys(["D8:6", "D9:17", "D11:26", "D30:5"], "s")
    found = repair_evidence(given, known)
    assert (found.ids, found.bad) == (ids, bad)


def test_a_packed_file_is_read_and_the_checksum_is_of_the_file_on_disk(path, tmp_path):
    packed = tmp_path / "locomo_tiny.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert load_locomo(packed).conversations == load_locomo(path).conversations
    assert load_locomo(packed).name == load_locomo(path).name == "locomo_tiny"
    assert load_locomo(packed).checksum != load_locomo(path).checksum


@pytest.mark.parametrize("text", ["", "{}x", "[1]", '[{"sample_id": "a"}]', '{"a": 1}'])
def test_another_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"other\.json is not a LoCoMo file"):
        load_locomo(path)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(InvalidInput, match="cannot read"):
        load_locomo(tmp_path / "nowhere.json")
