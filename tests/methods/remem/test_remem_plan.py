"""How many steps a question gets, and what a reply calls a tool with."""

import pytest
from toolbank import look, step

from recollect.errors import InvalidInput
from recollect.methods.remem.planning import count_steps, list_arguments
from recollect.methods.remem.settings import ReactSettings, ToolSettings

SETTINGS = ReactSettings()

REASONING = [
    "How many times did Ada move?",
    "How often does Ben swim?",
    "How long was Ada in the choir?",
    "How much time passed between the two adoptions?",
    "What is the number of cities Ada lived in?",
    "Where did Ada live before she moved to Rome?",
    "Who led the choir after Ben?",
    "What happened between May and July?",
    "What did Ada do while Ben was away?",
    "Who was the first conductor?",
    "Who was the R17 of E69 at the time when E1 was the R3 of E2?",
    "Who was the last to leave?",
    "Which came later, the wedding or the move?",
    "Who was the next R11 of E57?",
    "In which order did these happen?",
    "Which was the longest trip?",
    "Give a timeline of the choir's conductors.",
    "Which events happened during 1950?",
    "What is Ada's most recent job?",
    "WHO WAS THE SECOND?",
]
RECOLLECTING = [
    "When did Ada move to Rome?",
    "What did Ada do last week?",
    "What did Ada adopt last Monday?",
    "Where does Ben work?",
    "What is Ben's last name?",
    "Who likes tea?",
    "Does Ada like the sea?",
    "",
]


@pytest.mark.parametrize("question", REASONING)
def test_counting_measuring_ordering_and_relating_get_the_steps_for_reasoning(question):
    assert count_steps(question, SETTINGS) == 5


@pytest.mark.parametrize("question", RECOLLECTING)
def test_anything_else_gets_the_steps_for_recollecting(question):
    assert count_steps(question, SETTINGS) == 3


def test_both_numbers_can_be_set():
    settings = ReactSettings(recollecting=2, reasoning=7)
    assert (count_steps("Who sang?", settings), count_steps("How many sang?", settings)) == (2, 7)


@pytest.mark.parametrize("settings", [{"recollecting": 1}, {"reasoning": 1}, {"reasoning": -1}])
def test_there_are_at_least_two_steps_since_the_last_one_cannot_look(settings):
    with pytest.raises(InvalidInput, match="at least 2"):
        ReactSettings(**settings)


@pytest.mark.parametrize("settings", [{"retrieved": 0}, {"explored": 0}])
def test_a_tool_shows_at_least_one_thing(settings):
    with pytest.raises(InvalidInput, match="at least 1"):
        ToolSettings(**settings)


def test_arguments_are_what_is_not_empty():
    assert list_arguments(look("tea")) == {"query": "tea"}
    entity = step("find_entity_contexts", subject="Ada", object="", limit=0, offset=2, gist_id=0, aggregation=" ")
    assert list_arguments(entity) == {"subject": "Ada", "offset": 2}
    assert list_arguments(step("output_answer", answer="Ada", thought="Done.")) == {"answer": "Ada"}
