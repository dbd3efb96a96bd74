"""The controller as a LangGraph graph: the same answer, requests and trace as our own loop gives."""

from dataclasses import replace
from datetime import timedelta

import pytest

pytest.importorskip("langgraph")

from foreign_memories import (
    AT,
    NOW,
    TEXTS,
    concluded,
    gap,
    known,
    query,
    reflect,
    retrieve,
    said,
    settle,
)
from langgraph.checkpoint.memory import InMemorySaver

from recollect import Memory, Message
from recollect.domain.recalls import ArmReport, ArmStatus
from recollect.domain.usage import Usage
from recollect.errors import InvalidInput, LimitReached, NoModel, RecallFailed
from recollect.integrations import CallableRetriever
from recollect.integrations.answering import answer_query
from recollect.integrations.langgraph import memr3_graph
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.trace import DecisionReason, get_loop
from recollect.methods.memr3.tracker import GenerationReply
from recollect.models.language import Reply
from recollect.testing.models import FunctionModel, HashEmbedder, ScriptedModel

CAT = known("Toby is a grey cat.", 1)
DAY = gap("the day", finer=True)


class Shelf:
    """Gives texts in their order, what is masked left out; ``fails`` names the calls that fail."""

    def __init__(self, texts=TEXTS, *, fails=(), masks=True, arm=None):
        self._texts, self._fails, self._masks, self._arm = texts, fails, masks, arm
        self._over = CallableRetriever(self._find)
        self.queries = []

    def _find(self, text, count, exclude):
        return [(f"m{at}", one, said(at), "Ada") for at, one in enumerate(self._texts) if f"m{at}" not in exclude]

    async def retrieve(self, query, reader):
        self.queries.append(query)
        if len(self.queries) in self._fails:
            raise RecallFailed("the shelf has fallen down")
        if not self._masks:
            query = replace(query, scope=replace(query.scope, exclude=frozenset()))
        recall = await self._over.retrieve(query, reader)
        if self._arm is None:
            return recall
        report = ArmReport(arm=self._arm, status=ArmStatus.OK, seconds=0.0, candidates=len(recall.evidence))
        return replace(recall, receipt=replace(recall.receipt, arms=(report,)))


class Noting:
    """A model whose replies come with a note."""

    def __init__(self, model):
        self._model, self.prompts = model, model.prompts

    async def generate(self, prompt, answer_type, *, check=None):
        reply = await self._model.generate(prompt, answer_type, check=check)
        return Reply(value=reply.value, usage=reply.usage, model=prompt.operation, notes=(f"on {prompt.operation}",))


def untimed(value):
    """A trace or receipt without its times, which no two runs share."""
    if isinstance(value, tuple):
        return tuple(map(untimed, value))
    if not hasattr(value, "__dataclass_fields__"):
        return value
    fields = {name: untimed(getattr(value, name)) for name in value.__dataclass_fields__}
    return type(value), {**fields, **({"seconds": 0.0} if "seconds" in fields else {})}


def limit_reached(tokens):
    error = LimitReached("no tokens are left", None)
    error.usage = Usage(calls=1, tokens_in=tokens)
    return error


SCENARIOS = {
    "it suffices": ({}, (settle("Toby", CAT), concluded("Toby.", 1)), {}),
    "it looks again": (
        {},
        (
            retrieve("cat collar", CAT, gaps=[gap("the collar")]),
            settle("x", CAT, known("A collar.", 3, 4)),
            concluded("A collar.", 4, 1),
        ),
        {"n_chk": 2},
    ),
    "it thinks": ({}, (reflect("Hm.", CAT), settle("x", CAT), concluded("Toby.", 1)), {}),
    "it thinks too long": (
        {},
        (
            reflect("a", CAT),
            reflect("b", CAT),
            reflect("c", CAT, gaps=[gap("more")]),
            settle("x", CAT),
            concluded("Toby.", 1),
        ),
        {"n_cap": 2, "n_chk": 3},
    ),
    "the budget is used up": (
        {},
        (*(retrieve(f"more {n}", CAT, gaps=[gap(f"g{n}")]) for n in range(3)), concluded("Toby.", 1)),
        {"n_max": 3, "n_chk": 1},
    ),
    "nothing new is found": (
        {},
        (
            retrieve("more", CAT, gaps=[gap("g")]),
            retrieve("yet more", CAT, gaps=[gap("g")]),
            settle("x", CAT, gaps=[gap("g")]),
            concluded("Toby.", 1),
        ),
        {"n_chk": 7},
    ),
    "precision alone is missing": (
        {},
        (retrieve("which day", CAT, gaps=[DAY]), retrieve("day", CAT, gaps=[DAY]), concluded("In May.", 1)),
        {"n_chk": 2},
    ),
    "precision is looked for to the end": (
        {},
        (
            retrieve("which day", CAT, gaps=[DAY]),
            retrieve("day", CAT, gaps=[DAY]),
            settle("x", CAT, gaps=[DAY]),
            concluded("In May.", 1),
        ),
        {"n_chk": 2, "settles": False},
    ),
    "nobody said it": ({}, (reflect("Hm.", gaps=[gap("all of it.")]), settle("x", gaps=[gap("all of it.")])), {}),
    "the model abstains": ({}, (settle("x", CAT), concluded("It is not said.", abstained=True)), {}),
    "there is nothing at all": ({"texts": (), "arm": "semantic"}, (), {}),
    "nothing is found": (
        {"texts": ()},
        (reflect("Hm.", gaps=[gap("all")]), settle("x", gaps=[gap("all")])),
        {},
    ),
    "the retriever does not mask": (
        {"masks": False},
        (retrieve("more", CAT, gaps=[gap("g")]), settle("x", CAT), settle("x", CAT), concluded("Toby.", 1)),
        {"n_chk": 2},
    ),
    "the second retrieval fails": (
        {"fails": (2,)},
        (retrieve("more", CAT, gaps=[gap("g")]), concluded("Toby.", 1)),
        {},
    ),
    "the second generation fails": (
        {},
        (retrieve("more", CAT, gaps=[gap("g")]), limit_reached(7), concluded("Toby.", 1)),
        {"n_chk": 2},
    ),
}


async def both(shelf, replies, settings, asked=None):
    """The answers of our loop and of the graph, with what each asked its model and its memory."""
    asked, settings = asked or query(), LoopSettings(**settings)
    ours = Noting(ScriptedModel(replies)), Shelf(**shelf)
    theirs = Noting(ScriptedModel(replies)), Shelf(**shelf)
    one = await answer_query(ours[1], asked, ours[0], settings)
    told = await memr3_graph(theirs[1], model=theirs[0], settings=settings).ainvoke({"query": asked})
    assert told.keys() == {"answer"}
    return (one, *ours), (told["answer"], *theirs)


@pytest.mark.parametrize(("shelf", "replies", "settings"), SCENARIOS.values(), ids=SCENARIOS)
async def test_requests_answer_trace_and_receipt_are_our_loops(shelf, replies, settings):
    (ours, model, memory), (theirs, their_model, their_memory) = await both(shelf, replies, settings)
    assert len(model.prompts) == len(replies)
    for one, other in zip(model.prompts, their_model.prompts, strict=True):
        assert one == other
    assert memory.queries == their_memory.queries
    assert get_loop(ours).rounds
    for one, other in zip(get_loop(ours).rounds, get_loop(theirs).rounds, strict=True):
        assert untimed(one) == untimed(other)
    assert untimed(ours) == untimed(theirs)
    assert theirs.receipt.seconds >= sum(one.seconds for one in get_loop(theirs).rounds) > 0


async def test_tokens_and_masks_of_the_question_are_kept_to():
    asked = query(exclude=["m0"], max_tokens=30)
    replies = (retrieve("more", CAT, gaps=[gap("g")]), settle("x", CAT), concluded("Toby.", 1))
    (ours, _, memory), (theirs, _, their_memory) = await both({}, replies, {"n_chk": 2}, asked)
    assert memory.queries == their_memory.queries
    assert their_memory.queries[1].max_tokens == 30 - sum(one.tokens for one in theirs.evidence[:2])
    assert "m0" in their_memory.queries[1].scope.exclude
    assert untimed(ours) == untimed(theirs)


@pytest.mark.parametrize(
    ("shelf", "replies", "error"),
    [({"fails": (1,)}, (), RecallFailed), ({}, (LimitReached("no tokens are left", None),), LimitReached)],
)
async def test_what_fails_before_any_evidence_is_raised_by_both(shelf, replies, error):
    with pytest.raises(error):
        await answer_query(Shelf(**shelf), query(), ScriptedModel(replies))
    with pytest.raises(error):
        await memr3_graph(Shelf(**shelf), model=ScriptedModel(replies)).ainvoke({"query": query()})


def test_its_nodes_are_those_of_the_paper():
    drawn = memr3_graph(Shelf(), model=ScriptedModel(())).get_graph()
    assert drawn.nodes.keys() - {"__start__", "__end__"} == {
        "start", "generate", "router", "retrieve", "reflect", "answer", "end"
    }  # fmt: skip
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert {("start", "retrieve"), ("answer", "end"), ("end", "__end__"), ("reflect", "generate")} <= edges
    assert {target for source, target in edges if source == "router"} == {"retrieve", "reflect", "answer"}


async def test_its_steps_can_be_followed_and_one_graph_answers_many_questions():
    graph = memr3_graph(Shelf(), model=FunctionModel(_always), clock=lambda: NOW)
    assert {(await graph.ainvoke({"question": text}))["answer"].text for text in ("Who?", "What?")} == {"Toby."}
    told = [name async for step in graph.astream({"question": "Who?"}, stream_mode="updates") for name in step]
    assert told == ["start", "retrieve", "generate", "router", "answer", "end"]


def _always(prompt, answer_type):
    return settle("x", CAT) if prompt.operation == "memr3.generate" else concluded("Toby.", 1)


async def test_the_present_is_the_clocks_unless_it_is_given():
    model = FunctionModel(_always)
    graph = memr3_graph(Shelf(), model=model, clock=lambda: NOW)
    await graph.ainvoke({"question": "Who?"})
    await graph.ainvoke({"question": "Who?", "now": AT})
    assert "Saturday, 20 July 2024, 12:00" in model.prompts[0].text
    assert "Wednesday, 8 May 2024, 14:10" in model.prompts[2].text
    with pytest.raises(InvalidInput):
        await graph.ainvoke({"question": "Who?", "now": AT.replace(tzinfo=None)})


async def test_many_iterations_are_within_the_graphs_own_limit():
    replies = [*(reflect("Hm.", CAT) for _ in range(39)), settle("x", CAT), concluded("Toby.", 1)]
    model = ScriptedModel(replies)
    graph = memr3_graph(Shelf(), model=model, settings=LoopSettings(n_max=40, n_cap=40))
    answer = (await graph.ainvoke({"query": query()}))["answer"]
    assert (len(get_loop(answer).rounds), get_loop(answer).end_reason) == (41, DecisionReason.BUDGET)


async def test_a_course_can_be_kept_by_a_checkpointer_and_taken_up_again():
    """Stopped before the answer, and taken up by another graph with the same checkpointer."""
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    replies = (retrieve("more", CAT, gaps=[gap("g")]), settle("x", CAT), concluded("Toby.", 1))
    first, second = ScriptedModel(replies[:2]), ScriptedModel(replies[2:])
    stopped = memr3_graph(Shelf(), model=first, checkpointer=saver, interrupt_before=["answer"])
    assert await stopped.ainvoke({"query": query()}, thread) is None
    graph = memr3_graph(Shelf(), model=second, checkpointer=saver)
    answer = (await graph.ainvoke(None, thread))["answer"]
    whole = await answer_query(Shelf(), query(), ScriptedModel(replies))
    assert untimed(answer) == untimed(whole)


async def test_each_question_of_a_thread_is_answered_for_itself():
    """Nothing of an earlier question, however it was put, is asked again in place of the next one."""

    def model(prompt, answer_type):
        return settle("x", CAT) if answer_type is GenerationReply else concluded(prompt.subject, 1)

    thread = {"configurable": {"thread_id": "1"}}
    later = NOW + timedelta(days=9)
    graph = memr3_graph(Shelf(), model=FunctionModel(model), checkpointer=InMemorySaver(), clock=lambda: later)
    asked = ({"question": "One?", "now": NOW}, {"question": "Two?"}, {"query": query("Three?")}, {"question": "Four?"})
    answers = [(await graph.ainvoke(one, thread))["answer"] for one in asked]
    assert [one.text for one in answers] == ["One?", "Two?", "Three?", "Four?"]
    assert [get_loop(one).question for one in answers] == ["One?", "Two?", "Three?", "Four?"]
    kept = [one.values["asked"].now async for one in graph.aget_state_history(thread) if one.next == ("end",)]
    assert kept[::-1] == [NOW, later, NOW, later]


async def test_over_a_bank_it_asks_what_the_bank_itself_asks_and_keeps_its_ledger():
    texts = ("I adopted Toby yesterday.", "The cat sleeps all day.")
    prompts, answers, costs = [], [], []
    for over_graph in (False, True):
        model = FunctionModel(_always)
        async with Memory.open(":memory:", embedder=HashEmbedder(), model=model, clock=lambda: NOW) as memory:
            bank = await memory.bank("ada")
            messages = [Message(id=f"m{at}", text=text, at=said(at)) for at, text in enumerate(texts)]
            await bank.retain(messages, session="s")
            if over_graph:
                answers.append((await memr3_graph(bank).ainvoke({"query": query()}))["answer"])
            else:
                answers.append(await bank.ask(query().text, recipe="memr3", now=NOW))
            costs.append([(cost.operation, cost.usage.calls) for cost in await bank.costs()])
        prompts.append(model.prompts)
    assert prompts[0] == prompts[1]
    assert '"yesterday" is 7 May 2024' in prompts[1][0].text
    assert costs[0] == costs[1] == [("memr3.answer", 1), ("memr3.generate", 1)]
    assert answers[0].citations == answers[1].citations


async def test_without_a_model_it_says_so():
    with pytest.raises(NoModel):
        await memr3_graph(Shelf(), model="none").ainvoke({"query": query()})
