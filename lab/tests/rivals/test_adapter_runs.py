"""The same questions over a bank, Mem0 and a LangGraph store that hold the same messages."""

import re

import pytest
from foreign_memories import concluded, known, retrieve, settle

from recollect.errors import InvalidInput
from recollect.testing.models import FunctionModel
from recollect_lab.recordings import Recording, ReplayServer, open_recording_folder
from recollect_lab.rehearsals.plans import TWELVE_QUESTIONS
from recollect_lab.rivals import BACKENDS, NAME, QUESTIONS, run_adapter, run_over_backend

NEEDS = {"mem0": "mem0", "langgraph": "langgraph"}
SNIPPET = re.compile(r"^\[(\d+)\] \(said ([^;)]*)[^)]*\) (.*(?:\n    .*)*)", re.M)


def thinking(prompt, answer_type):
    """Looks twice, and answers from the first snippet."""
    if prompt.operation == "memr3.answer":
        return concluded("What it says.", 1)
    first = known("What it says.", 1)
    return settle("x", first) if "<earlier_queries>" in prompt.text else retrieve("the cake and the dog", first)


async def ran(backend):
    if backend in NEEDS:
        pytest.importorskip(NEEDS[backend])
    model = FunctionModel(thinking)
    return await run_over_backend(backend, model), model.prompts


@pytest.mark.parametrize("backend", BACKENDS)
async def test_requests_are_the_same_in_every_run(backend):
    """What Mem0 makes up anew each time, ids and times of storing, must not reach the model."""
    asked, prompts = await ran(backend)
    _, again = await ran(backend)
    assert prompts == again
    assert len(prompts) == 3 * len(QUESTIONS)
    assert tuple(one.question.id for one in asked) == QUESTIONS
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", "".join(prompt.text for prompt in prompts))


async def test_the_three_hold_the_same_messages_and_show_when_they_were_said():
    shown = {}
    for backend in BACKENDS:
        asked, prompts = await ran(backend)
        for one in asked:
            assert one.answer.receipt.notes == ()
            assert len(one.answer.evidence) == 10
            assert len({piece.id for piece in one.answer.evidence}) == 10
            assert all(re.fullmatch(r"m\d{3}", piece.sources[0]) for piece in one.answer.evidence)
        shown[backend] = {(when, text) for prompt in prompts for _, when, text in SNIPPET.findall(prompt.text)}
        assert len(shown[backend]) > 20
    alike = dict(shown["bank"])
    for backend in ("mem0", "langgraph"):
        both = {when for when, _ in shown[backend]} & alike.keys()
        assert len(both) > 5
        assert {(when, text) for when, text in shown[backend] if when in both} & shown["bank"]


def test_the_questions_are_some_of_the_twelve():
    assert set(QUESTIONS) < set(TWELVE_QUESTIONS)


async def test_there_is_no_other_backend():
    with pytest.raises(InvalidInput, match="no backend 'zep'; there are: bank, mem0, langgraph"):
        await run_over_backend("zep", FunctionModel(thinking))


async def test_it_asks_an_endpoint(tmp_path):
    """Nothing is recorded here: the first question is asked, and is not answered."""
    with ReplayServer(Recording.open(tmp_path, create=True)) as server:
        with pytest.raises(Exception, match="no reply is recorded"):
            await run_adapter(server.base_url, "bank")
        (missing,) = server.report.missing
    assert missing.purpose == (
        "answer",
        "memr3.generate",
        "Which flavours did Bram choose for his sister's wedding cake?",
    )


async def test_recorded_replies_answer_over_all_three():
    with open_recording_folder(NAME) as folder, ReplayServer(Recording.open(folder)) as server:
        told = {}
        for backend in BACKENDS:
            if backend in NEEDS:
                pytest.importorskip(NEEDS[backend])
            told[backend] = await run_adapter(server.base_url, backend)
        assert server.report.is_fresh
        assert not server.report.unused
    for asked in told.values():
        assert [one.answer.abstained for one in asked] == [one.should_abstain for one in asked]
        for one in asked:
            shown = {piece.id for piece in one.answer.evidence}
            assert {citation.id for citation in one.answer.citations} <= shown
