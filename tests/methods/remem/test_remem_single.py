"""One retrieval by embeddings and one generation."""

import re

import pytest
from toolbank import bank, choir, concludes, parts, query

from recollect.answering.answers import NOTHING_FOUND
from recollect.domain.items import ItemKind
from recollect.domain.queries import Scope
from recollect.errors import InvalidReply, ModelUnavailable
from recollect.methods.remem.settings import ToolSettings
from recollect.methods.remem.single import SinglePassResponder
from recollect.models.language import ModelRole

QUESTION = "Who sang in the opera?"


async def respond(store, *replies, asked=None, settings=None, **more):
    built = parts(*replies)
    responder = SinglePassResponder(built, settings or ToolSettings())
    return (await responder.respond(asked or query(QUESTION), store, **more)).answer, built.model


async def test_one_retrieval_and_one_generation():
    heard = []
    async with choir() as store:
        answer, model = await respond(store, concludes("Ada", 4), listener=heard.append)
    (prompt,) = model.prompts
    assert (prompt.operation, prompt.role, prompt.subject) == ("remem.single", ModelRole.ANSWER, QUESTION)
    lines = re.search(r"<evidence>\n(.*?)\n</evidence>", prompt.text, re.DOTALL)[1].splitlines()
    assert [line[:4] for line in lines] == [f"[{n}] " for n in range(1, 9)]
    assert answer.text == "Ada"
    assert [one.id for one in answer.citations] == [answer.evidence[3].id] == ["f3"]
    assert [one.action for one in answer.trace] == ["semantic_retrieve", "conclude"]
    assert answer.trace[0].result == "3 of 3 gists, 5 of 5 facts"
    assert tuple(heard) == answer.trace
    assert answer.receipt.usage == model.usage


async def test_as_many_gists_and_facts_as_are_set():
    async with choir() as store:
        answer, _ = await respond(store, concludes("Ada", 1), settings=ToolSettings(retrieved=2))
    assert [one.kind for one in answer.evidence] == [ItemKind.GIST] * 2 + [ItemKind.TRIPLE] * 2


async def test_where_nothing_is_found_no_model_is_asked():
    async with bank() as store:
        answer, model = await respond(store)
    assert (answer.abstained, answer.text, model.prompts) == (True, NOTHING_FOUND, [])
    assert "a recipe such as remem" in answer.receipt.notes[0]


async def test_what_does_not_fit_is_noted():
    async with choir() as store:
        answer, _ = await respond(store, concludes("Ada", 1), asked=query(QUESTION, max_tokens=60))
    shown = len(answer.evidence)
    assert 0 < shown < 8
    assert answer.receipt.notes == (f"{8 - shown} of 8 gists and facts that were found do not fit into max_tokens",)


async def test_the_scope_is_kept_to():
    async with choir() as store:
        asked = query(QUESTION, scope=Scope(exclude=frozenset({"f3", "g1"})))
        answer, _ = await respond(store, concludes("nobody", abstained=True), asked=asked)
    assert not {"f3", "g1"} & {one.id for one in answer.evidence}
    assert answer.abstained


async def test_a_citation_of_what_was_not_shown_is_refused():
    async with choir() as store:
        with pytest.raises(InvalidReply, match="there is no evidence 9"):
            await respond(store, concludes("Ada", 9))


async def test_a_failure_is_the_callers():
    async with choir() as store:
        with pytest.raises(ModelUnavailable):
            await respond(store, ModelUnavailable("away"))
