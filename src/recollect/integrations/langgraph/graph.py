"""MemR3's controller as a LangGraph graph, with the nodes of the paper (section 3.4).

The nodes are the steps of our own loop, so both ask the models the same and return the same answer and trace. The state
of the graph holds everything that a question collects, as frozen values.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, TypedDict, cast

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from recollect.app import settings_from
from recollect.app.models import ModelArgument, chosen_model
from recollect.domain.answers import Answer
from recollect.domain.loops import Decision, Reason, Round
from recollect.domain.queries import Query
from recollect.domain.recalls import Recall
from recollect.domain.usage import Usage
from recollect.errors import ModelError, RecallFailed
from recollect.integrations.answering import NO_BANK
from recollect.memory.asking import RecallOptions, query_of
from recollect.memory.bank import Bank
from recollect.memory.memory import utc_now
from recollect.methods.memr3.answer import concluded
from recollect.methods.memr3.loop import Loop, nothing_in_scope
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import State, reflected
from recollect.methods.memr3.track import Generated, tracked
from recollect.models.language import LanguageModel, Reply
from recollect.ports import Retriever, ignore_event
from recollect.store.protocol import StoreReader

_ROUNDS: Final = 3  # the nodes of an iteration: generate, router, and the chosen one


class Asked(TypedDict, total=False):
    """The input of a graph: a ``question`` in words and the aware ``now`` of the question, or a whole ``query``.

    The first node clears it. Otherwise, in a thread with a checkpointer, it would also be the input of the next
    question.
    """

    question: Annotated[str, EphemeralValue]
    now: Annotated[datetime, EphemeralValue]
    query: Annotated[Query, EphemeralValue]


class Told(TypedDict, total=False):
    """The output of a graph: the answer with its trace."""

    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The reply of the model in an iteration. It has no type parameters, because checkpointers do not support them."""

    value: Generated
    usage: Usage
    model: str
    notes: tuple[str, ...]

    @property
    def reply(self) -> Reply[Generated]:
        return Reply(value=self.value, usage=self.usage, model=self.model, notes=self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The data for the receipt and the trace. ``seconds`` is the time of all nodes together."""

    rounds: tuple[Round, ...] = ()
    recalls: tuple[Recall, ...] = ()
    given: tuple[Given, ...] = ()
    lost: Usage = Usage()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


class Course(Asked, Told, total=False):
    """The state of a graph: the input, the state of the loop, the collected data, and the current iteration."""

    asked: Query
    state: State
    gathered: Gathered
    under_way: Round


def memr3_graph(
    source: Retriever | Bank,
    *,
    model: ModelArgument | None = None,
    settings: LoopSettings | None = None,
    reader: StoreReader = NO_BANK,
    clock: Callable[[], datetime] = utc_now,
    **compiled: Any,
) -> CompiledStateGraph[Course, None, Asked, Told]:
    """MemR3's controller, compiled: ``(await graph.ainvoke({"question": "..."}))["answer"]``.

    Its nodes are start, retrieve, generate, router, reflect, answer and end. It has to be invoked asynchronously.

    Args:
        source: finds evidence; of a bank, its own retriever, and its model with its ledger and limits.
        model: as :meth:`recollect.Memory.open` takes it; what the environment says where left out, or the bank's.
        settings: how far the loop goes.
        reader: of the bank that a retriever works on, if it works on one.
        clock: gives the aware present of questions that come without one.
        compiled: what LangGraph's ``compile`` takes, such as a ``checkpointer``.

    Raises:
        InvalidInput: the model's name is none.
    """
    settings = settings or LoopSettings()
    if isinstance(source, Bank):
        parts = source.parts()
        chosen = parts.model if model is None else chosen_model(model, settings_from(os.environ))
        nodes = Nodes(parts.retriever, parts.reader, chosen, settings, clock)
    else:
        nodes = Nodes(source, reader, chosen_model(model, settings_from(os.environ)), settings, clock)
    graph = StateGraph(Course, input_schema=Asked, output_schema=Told)
    for name in ("start", "retrieve", "generate", "router", "reflect", "answer", "end"):
        graph.add_node(name, _thawing(getattr(nodes, name)))
    graph.add_edge(START, "start")
    graph.add_edge("start", "retrieve")
    graph.add_conditional_edges("retrieve", nodes.after_retrieve, ["generate", "answer"])
    graph.add_conditional_edges("generate", after_generate, ["router", "answer"])
    graph.add_conditional_edges("router", after_router, ["retrieve", "reflect", "answer"])
    graph.add_edge("reflect", "generate")
    graph.add_edge("answer", "end")
    graph.add_edge("end", END)
    steps = _ROUNDS * settings.n_max + 10
    return graph.compile(**compiled).with_config(recursion_limit=steps)


class Nodes:
    """The nodes of the graph. Each returns its changes to the state of the graph."""

    def __init__(
        self,
        retriever: Retriever,
        reader: StoreReader,
        model: LanguageModel,
        settings: LoopSettings,
        clock: Callable[[], datetime],
    ) -> None:
        self._retriever, self._reader, self._model = retriever, reader, model
        self._settings, self._clock = settings, clock

    async def start(self, course: Course) -> Course:
        """Begin with a retrieval for the unchanged question."""
        query = course.get("query") or query_of(course["question"], RecallOptions(now=course.get("now")), self._clock())
        first = Round(number=0, decision=Decision.RETRIEVE, why=Reason.START, query=query.text)
        state = State(question=query.text, mask=query.scope.exclude)
        return Course(asked=query, state=state, gathered=Gathered(), under_way=first)

    async def retrieve(self, course: Course) -> Course:
        """Search for the question joined with the refinement. Evidence that was seen before is masked (equation 5)."""
        began, loop, state, done = self._taken_up(course)
        refinement = loop.replies[-1].value.refinement if done.number else ""
        try:
            state = await loop.retrieve(state, refinement)
            done = replace(done, snippets=state.snippets)
        except (ModelError, RecallFailed) as exc:
            done = loop.cut_short(state, done, exc)
        return _over(loop, course, began, state, done)

    async def generate(self, course: Course) -> Course:
        """Update evidence and gaps, and let the model choose the next action (equation 3)."""
        began, loop, state, _ = self._taken_up(course)
        done = Round(number=state.iteration, before=state.known, after=state.known)
        try:
            reply = await loop.generate(state)
        except (ModelError, RecallFailed) as exc:
            return _over(loop, course, began, state, loop.cut_short(state, done, exc))
        state = tracked(state, reply.value)
        return Course(state=state, gathered=_gathered(loop, course, began), under_way=_longer(done, began))

    async def router(self, course: Course) -> Course:
        """Decide (Algorithm 1)."""
        began, loop, state, done = self._taken_up(course)
        done = _longer(loop.decide(state, done), began)
        return Course(under_way=done, gathered=_gathered(loop, course, began))

    async def reflect(self, course: Course) -> Course:
        """Keep the reasoning for the next generation."""
        began, loop, state, done = self._taken_up(course)
        state = reflected(state, loop.replies[-1].value.reasoning.strip())
        return _over(loop, course, began, state, done)

    async def answer(self, course: Course) -> Course:
        """Answer from question, draft and evidence (equation 6). Without evidence no model is called."""
        began, loop, state, done = self._taken_up(course)
        if done not in loop.rounds:
            loop.rounds.append(_longer(done, began))
        answer = await concluded(loop, state, began=began - course["gathered"].seconds)
        return Course(answer=answer, gathered=_gathered(loop, course, began))

    async def end(self, course: Course) -> Course:
        """Return the answer and end."""
        return Course()

    def after_retrieve(self, course: Course) -> str:
        """Go to the answer if there is no evidence at all or the retrieval has failed."""
        state, gathered = course["state"], course["gathered"]
        if not state.seen and nothing_in_scope(gathered.recalls[0]):
            return "answer"
        return "generate" if gathered.rounds[-1].goes_on else "answer"

    def _taken_up(self, course: Course) -> tuple[float, Loop, State, Round]:
        """Return the moment, our loop with the collected data, its state, and the current iteration."""
        gathered = course["gathered"]
        loop = Loop(
            query=course["asked"],
            reader=self._reader,
            retriever=self._retriever,
            model=self._model,
            settings=self._settings,
            follow=ignore_event,
            rounds=list(gathered.rounds),
            recalls=list(gathered.recalls),
            replies=[one.reply for one in gathered.given],
            lost=gathered.lost,
            notes=list(gathered.notes),
        )
        return time.perf_counter(), loop, course["state"], course["under_way"]


def _thawing(node: Callable[[Course], Awaitable[Course]]) -> Callable[[Course], Awaitable[Course]]:
    """Return a node that restores the state from a checkpointer, because a checkpointer turns tuples into lists."""

    async def thawing(course: Course) -> Course:
        return await node(cast(Course, {name: _thawed(value) for name, value in course.items()}))

    return thawing


def _thawed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        cells = tuple(map(_thawed, value))
        same = isinstance(value, tuple) and all(one is other for one, other in zip(cells, value, strict=True))
        return value if same else cells
    if not is_dataclass(value) or isinstance(value, type):
        return value
    old = {field.name: getattr(value, field.name) for field in fields(value)}
    new = {name: _thawed(cell) for name, cell in old.items()}
    return value if all(new[name] is cell for name, cell in old.items()) else replace(value, **new)


def after_generate(course: Course) -> str:
    """Go to the router, or to the answer if the generation has failed."""
    rounds = course["gathered"].rounds
    return "answer" if rounds and not rounds[-1].goes_on else "router"


def after_router(course: Course) -> str:
    """Go to the node that the router chose."""
    decision = course["under_way"].decision
    assert decision is not None
    return decision.value


def _over(loop: Loop, course: Course, began: float, state: State, done: Round) -> Course:
    """Return the changes at the end of an iteration."""
    done = _longer(done, began)
    loop.rounds.append(done)
    return Course(state=state, under_way=done, gathered=_gathered(loop, course, began))


def _gathered(loop: Loop, course: Course, began: float) -> Gathered:
    return Gathered(
        rounds=tuple(loop.rounds),
        recalls=tuple(loop.recalls),
        given=tuple(Given(value=r.value, usage=r.usage, model=r.model, notes=r.notes) for r in loop.replies),
        lost=loop.lost,
        notes=tuple(loop.notes),
        seconds=course["gathered"].seconds + time.perf_counter() - began,
    )


def _longer(done: Round, began: float) -> Round:
    return replace(done, seconds=done.seconds + time.perf_counter() - began)
