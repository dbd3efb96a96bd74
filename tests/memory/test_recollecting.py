"""Asking a bank that recollects: facts go in without a model, and come out through the tools."""

import re
from datetime import UTC, datetime

import pytest
from offices import E92, E95

from recollect import Memory, Message
from recollect.domain.answers import Answer
from recollect.methods.remem.conclusion import RecollectionReply
from recollect.methods.remem.planning import PlannedCall
from recollect.methods.remem.single import SinglePassResponder
from recollect.methods.remem.tool_loop import RecollectionResponder
from recollect.recipes import Recipe
from recollect.testing.models import FunctionModel, HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)
QUESTION = "Who was the R17 of E69 after E92?"


def number_of(prompt, subject):
    """The number under which the prompt shows the fact on a subject."""
    return int(re.search(rf"^\[(\d+)\] \({subject},", prompt.text, re.MULTILINE)[1])


def said(prompt, answer_type):
    """A model that looks up who held the post, and answers with what it finds."""
    if answer_type is RecollectionReply:
        return RecollectionReply(
            reasoning="E95 follows.", answer="E95", abstained=False, citations=(number_of(prompt, "E95"),)
        )
    if "<observation>" in prompt.text:
        return PlannedCall(thought="It is E95.", tool="output_answer", answer="E95")
    return PlannedCall(thought="Who held it?", tool="find_entity_contexts", object="E69", ordering="desc", limit=1)


async def bank_of(memory):
    bank = await memory.bank("ada")
    await bank.add_facts([E92, E95])
    return bank


@pytest.mark.parametrize(("builder", "calls"), [(RecollectionResponder, 3), (SinglePassResponder, 1)])
async def test_a_bank_answers_with_citations_and_keeps_its_ledger(builder, calls):
    recipe = Recipe(name="recollecting", answer=builder)
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=recipe, model=FunctionModel(said)) as memory:
        bank = await bank_of(memory)
        answer = await bank.ask(QUESTION)
        costs = {cost.operation: cost.usage.calls for cost in await bank.costs()}
    assert (answer.text, answer.abstained) == ("E95", False)
    assert answer.citations[0].text == "E95 was the R17 of E69"
    assert answer.receipt.usage.calls == sum(costs.values()) == calls
    assert all(operation.startswith("remem.") for operation in costs)


async def test_the_steps_are_streamed_as_they_are_taken():
    recipe = Recipe(name="recollecting", answer=RecollectionResponder)
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=recipe, model=FunctionModel(said)) as memory:
        bank = await bank_of(memory)
        *steps, answer = [event async for event in bank.ask_stream(QUESTION)]
    assert isinstance(answer, Answer)
    assert [step.action for step in steps] == ["find_entity_contexts", "output_answer", "conclude"]


async def test_without_a_model_the_evidence_is_given_and_nothing_is_invented():
    recipe = Recipe(name="recollecting", answer=RecollectionResponder)
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=recipe) as memory:
        bank = await bank_of(memory)
        answer = await bank.ask(QUESTION)
    assert (answer.text, answer.abstained) == ("", True)
    assert answer.evidence
    assert "needs a language model" in answer.receipt.notes[0]


async def test_conversation_that_nobody_has_read_yet_is_told():
    recipe = Recipe(name="recollecting", answer=RecollectionResponder)
    async with Memory.open(":memory:", embedder=HashEmbedder(), recipe=recipe, model=FunctionModel(said)) as memory:
        bank = await memory.bank("ada")
        await bank.retain(Message(text="I adopted Toby last week!", speaker="Ada", at=AT), session="s1")
        answer = await bank.ask("Whom did Ada adopt?")
    assert answer.abstained
    assert answer.receipt.usage.calls == 0
    assert answer.receipt.notes[0].startswith("messages without gists or facts so far: 1; `bank.backfill()`")
