"""REMem's tools as a bank gives them: over what was retained, narrowed like any question, with and without await."""

import inspect
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from offices import E12, E92, E92_LATER, E95

from recollect import Bank, Memory, Message, sync
from recollect.errors import InvalidInput, ModelUnavailable, NaiveDatetime
from recollect.methods.remem.tools import Toolkit
from recollect.testing.models import HashEmbedder

AT = datetime(2024, 5, 1, tzinfo=UTC)
FACTS = (E92, E95, E12, E92_LATER)


async def keep(bank, facts=FACTS, session="s1"):
    """Keep facts in a bank, each with a message of a session that it comes from."""
    said = [
        Message(id=f"{session}.{n}", text="As I told you.", speaker="Ada", at=AT + timedelta(minutes=n))
        for n in range(len(facts))
    ]
    await bank.retain(said, session=session)
    await bank.add_facts([replace(fact, sources=(message.id,)) for fact, message in zip(facts, said, strict=True)])


def opened(**more):
    return Memory.open(":memory:", embedder=HashEmbedder(), **more)


async def test_an_agent_calls_the_tools_over_what_was_retained():
    async with opened() as memory:
        bank = await memory.bank("ada")
        await keep(bank)
        tools = bank.tools()
        seen = await tools.call("lexical_retrieve", {"query": "E92 was the R17 of E69"})
        after = {"object": "E69", "predicate": "was the R17 of", "start_time": "1984", "start_operator": "ge"}
        found = await tools.call("find_entity_contexts", {**after, "ordering": "asc", "limit": 1})
        count = await tools.call("find_entity_contexts", {**after, "aggregation": "count"})
    assert "(E92, was the R17 of, E69) from 1980 to 1984" in seen.text
    assert [one.item.triple.subject for one in found.facts] == ["E95"]
    assert (found.facts_total, count.number) == (2, 2)


async def test_each_call_of_tools_gives_new_ones():
    async with opened() as memory:
        bank = await memory.bank("ada")
        await keep(bank)
        first, second = bank.tools(), bank.tools()
        assert isinstance(first, Toolkit)
        await first.call("lexical_retrieve", {"query": "E12"})
        again = await second.call("lexical_retrieve", {"query": "E12"})
    assert not again.correction
    assert [one.number for one in again.facts] == list(range(1, len(again.facts) + 1))


async def test_tools_are_narrowed_like_any_question():
    async with opened() as memory:
        bank = await memory.bank("ada")
        await keep(bank, FACTS[:2])
        await keep(bank, FACTS[2:], "s2")
        narrowed = bank.tools(sessions="s2", limit=1, now=AT)
        listed = await narrowed.find_entity_contexts(object="E69")
        near = await narrowed.semantic_retrieve("E92")
        early = await bank.tools(as_of=AT - timedelta(days=9000)).find_entity_contexts(object="E69")
    assert [one.item.triple.subject for one in listed.facts] == ["E12"]
    assert len(near.facts) == 1
    assert early.facts_total == 0


async def test_dates_of_calls_are_read_against_the_given_present():
    async with opened() as memory:
        bank = await memory.bank("ada")
        await keep(bank)
        then = bank.tools(now=datetime(1992, 6, 1, tzinfo=UTC))
        asked = {"start_time": "last year", "start_operator": "le", "end_time": "last year", "end_operator": "ge"}
        found = await then.find_entity_contexts(predicate="was the R17 of", **asked)
    assert [one.item.triple.subject for one in found.facts] == ["E95", "E12"]


async def test_bounds_are_checked_before_anything_is_looked_for():
    async with opened() as memory:
        bank = await memory.bank("ada")
        with pytest.raises(InvalidInput, match="limit is 0"):
            bank.tools(limit=0)
        with pytest.raises(NaiveDatetime):
            bank.tools(now=datetime(2024, 1, 1))  # noqa: DTZ001 - naive on purpose


async def test_another_bank_is_out_of_reach():
    async with opened() as memory:
        ada, ben = await memory.bank("ada"), await memory.bank("ben")
        await keep(ada)
        assert (await ben.tools().find_entity_contexts(object="E69")).facts_total == 0
        assert (await ben.tools().lexical_retrieve("E69")).items == ()


async def test_what_was_forgotten_is_not_found():
    async with opened() as memory:
        bank = await memory.bank("ada")
        await keep(bank, FACTS[:1])
        tools = bank.tools()
        assert (await tools.find_entity_contexts(subject="E92")).facts_total == 1
        await bank.forget(messages="s1.0")
        assert (await tools.find_entity_contexts(subject="E92")).facts_total == 0
        assert (await tools.lexical_retrieve("E92")).items == ()


async def test_an_embedder_that_is_gone_is_no_correction():
    class Gone(HashEmbedder):
        async def embed(self, texts, *, purpose="document"):
            if purpose == "query":
                raise ModelUnavailable("gone")
            return await super().embed(texts, purpose=purpose)

    async with Memory.open(":memory:", embedder=Gone()) as memory:
        bank = await memory.bank("ada")
        await keep(bank)
        with pytest.raises(ModelUnavailable):
            await bank.tools().call("semantic_retrieve", {"query": "E92"})
        assert (await bank.tools().call("lexical_retrieve", {"query": "E92"})).facts


def test_the_same_without_await():
    with sync.Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = memory.bank("ada")
        bank.add_facts(FACTS)
        tools = bank.tools(now=AT)
        found = tools.find_entity_contexts(object="E69", ordering="desc", limit=1)
        assert [one.item.triple.subject for one in found.facts] == ["E12"]
        assert tools.call("find_facts", {}).correction
        assert tools.lexical_retrieve("E95").facts
        assert tools.semantic_retrieve("E95").facts
        assert tools.find_gist_contexts(1).correction
        assert tools.output_answer("E12").text.startswith("The search is over.")
        assert len(tools.seen) == 4
        assert json.loads(json.dumps(tools.schemas))[4]["function"]["name"] == "output_answer"


def test_nothing_is_left_out_without_await_and_all_reads_the_same():
    with sync.Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        bank = memory.bank("ada")
        plain, awaited = bank.tools(), bank.asynchronous.tools()
        public = [name for name, _ in inspect.getmembers(Toolkit) if not name.startswith("_")]
        assert len(public) == 8
        for name in public:
            mine, theirs = getattr(plain, name), getattr(awaited, name)
            assert not inspect.iscoroutinefunction(mine)
            if inspect.iscoroutinefunction(theirs):
                assert inspect.signature(mine) == inspect.signature(theirs)
                assert (mine.__name__, mine.__doc__) == (name, theirs.__doc__)
            else:
                assert mine == theirs
    assert sync.Bank.tools.__doc__ == Bank.tools.__doc__
