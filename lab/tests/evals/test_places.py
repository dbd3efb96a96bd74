from datetime import UTC, datetime

import pytest

from recollect.domain.messages import Message, Role
from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import DatasetConversation, DatasetSession
from recollect_lab.evals.places import map_places, rank_places

AT = datetime(2024, 5, 1, tzinfo=UTC)
U, A = Role.USER, Role.ASSISTANT


def talk(**sessions: list[Role]) -> DatasetConversation:
    return DatasetConversation(
        id="c",
        sessions=tuple(
            DatasetSession(
                id=name,
                at=AT,
                messages=tuple(Message(id=f"{name}{i}", text="x", role=role) for i, role in enumerate(roles)),
            )
            for name, roles in sessions.items()
        ),
        questions=(),
    )


def test_on_message_places_every_message_is_its_own():
    where = map_places(talk(a=[U, A], b=[U]), "message")
    assert where.places == {"a0": "a0", "a1": "a1", "b0": "b0"}
    assert where.sessions == {"a0": "a", "a1": "a", "b0": "b"}


def test_a_user_message_opens_an_exchange():
    where = map_places(talk(a=[U, A, A, U, U, A]), "exchange")
    assert list(where.places.values()) == ["a0", "a0", "a0", "a3", "a4", "a4"]


def test_what_comes_before_the_first_user_message_is_an_exchange_of_its_own():
    where = map_places(talk(a=[A, A, U, A]), "exchange")
    assert list(where.places.values()) == ["a0", "a0", "a2", "a2"]


def test_no_exchange_spans_two_sessions():
    assert map_places(talk(a=[U], b=[A]), "exchange").places["b0"] == "b0"


def test_evidence_that_spans_two_messages_takes_two_places_in_its_own_order():
    where = {name: name for name in "abcd"}
    assert rank_places([("b", "a"), ("a",), ("d", "b", "c")], where) == ("b", "a", "d", "c")


def test_places_and_sessions_rank_by_first_appearance():
    where = map_places(talk(a=[U, A], b=[U, A]), "exchange")
    evidence = [("b1",), ("a0", "a1"), ("b0",)]
    assert rank_places(evidence, where.places) == ("b0", "a0")
    assert rank_places(evidence, where.sessions) == ("b", "a")


def test_evidence_without_sources_takes_no_place():
    assert rank_places([(), ("a",)], {"a": "a"}) == ("a",)


def test_a_source_that_is_no_message_is_an_error_not_a_miss():
    with pytest.raises(InvalidInput, match="'zz'"):
        rank_places([("zz",)], {"a": "a"})
