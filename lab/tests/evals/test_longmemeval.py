import json
from datetime import UTC, datetime, timedelta

import pytest

from recollect.errors import InvalidInput
from recollect_lab.datasets.longmemeval import load_longmemeval


def said(*roles, gold=()):
    return [{"role": role, "content": f"{role} {i}", "has_answer": i in gold} for i, role in enumerate(roles)]


def row(**changed):
    return {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "how many?",
        "question_date": "2023/06/13 (Tue) 15:15",
        "answer": 3,
        "answer_session_ids": ["answer_9_2", "answer_9_1"],
        "haystack_dates": [
            "2023/06/14 (Wed) 09:00",
            "2023/05/01 (Mon) 14:12",
            "2023/04/24 (Mon) 16:40",
            "2023/05/01 (Mon) 14:12",
        ],
        "haystack_session_ids": ["answer_9_2", "zzz_1", "answer_9_1", "aaa_1"],
        "haystack_sessions": [
            said("user", "assistant", gold=(1,)),
            said("user"),
            said("user", "assistant", "user", gold=(2,)),
            said("assistant", "user"),
        ],
        **changed,
    }


@pytest.fixture
def read(tmp_path):
    def read(*rows):
        path = tmp_path / "lme.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        return load_longmemeval(path)

    return read


def test_no_session_id_of_the_file_is_kept_anywhere(read):
    dataset = read(row())
    assert not any(name in repr(dataset) for name in ("answer_", "zzz", "aaa"))


def test_sessions_are_named_by_time_and_ties_stay_as_the_file_has_them(read):
    sessions = read(row()).conversations[0].sessions
    assert [(s.id, len(s.messages)) for s in sessions] == [("s001", 3), ("s002", 1), ("s003", 2), ("s004", 2)]
    assert sessions[0].at == datetime(2023, 4, 24, 16, 40, tzinfo=UTC)


def test_renaming_does_not_depend_on_the_ids(read):
    other = row(haystack_session_ids=["b", "d", "a", "c"], answer_session_ids=["a", "b"])
    assert read(row()).conversations == read(other).conversations


def test_messages_are_said_a_second_apart_by_user_and_assistant(read):
    first, second, _ = read(row()).conversations[0].sessions[0].messages
    assert (first.id, first.speaker, first.role) == ("s001:001", "user", "user")
    assert (second.id, second.speaker, second.role) == ("s001:002", "assistant", "assistant")
    assert second.at - first.at == timedelta(seconds=1)


def test_gold_messages_and_sessions_are_renamed_with_the_rest(read):
    question = read(row()).conversations[0].questions[0]
    assert question.evidence == ("s001:003", "s004:002")
    assert question.sessions == ("s001", "s004")
    assert (question.answer, question.category, question.unscored) == ("3", "multi-session", None)
    assert question.at == datetime(2023, 6, 13, 15, 15, tzinfo=UTC)


def test_a_session_after_the_question_stays(read):
    conversation = read(row()).conversations[0]
    assert conversation.sessions[-1].at > conversation.questions[0].at


def test_a_gold_session_that_is_there_twice_is_two(read):
    again = row(haystack_session_ids=["answer_9_2", "answer_9_1", "answer_9_1", "aaa_1"])
    assert read(again).conversations[0].questions[0].sessions == ("s001", "s002", "s004")


def test_abstentions_are_kept_and_not_scored(read):
    assert read(row(question_id="q1_abs")).conversations[0].questions[0].unscored == "abstention"


def test_without_marked_messages_the_sessions_remain(read):
    bare = [[{"role": "user", "content": "x"}] for _ in range(4)]
    question = read(row(haystack_sessions=bare)).conversations[0].questions[0]
    assert (question.evidence, question.sessions, question.unscored) == ((), ("s001", "s004"), None)


def test_gold_sessions_outside_the_haystack_are_no_evidence(read):
    question = read(row(answer_session_ids=["elsewhere"])).conversations[0].questions[0]
    assert question.unscored == "no evidence"


def test_every_question_is_a_conversation_and_places_are_exchanges(read):
    dataset = read(row(), row(question_id="q2"))
    assert [conversation.id for conversation in dataset.conversations] == ["q1", "q2"]
    assert dataset.place == "exchange"


@pytest.mark.parametrize("changed", [{"haystack_dates": []}, {"question_date": "soon"}, {"haystack_sessions": None}])
def test_another_file_is_refused_by_name(read, changed):
    with pytest.raises(InvalidInput, match=r"lme\.json is not a LongMemEval file"):
        read(row(**changed))
