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

from recollect.app import load_settings
from recollect.app.models import ModelArgument, choose_model
from recollect.domain.answers import Answer
from recollect.domain.queries import Query
from recollect.domain.recalls import Recall
from recollect.domain.usage import Usage
from recollect.errors import ModelError, RecallFailed
from recollect.integrations.answering import NO_BANK
from recollect.memory.bank import Bank
from recollect.memory.memory import utc_now
from recollect.memory.query_options import RecallOptions, build_query
from recollect.methods.memr3.answer import conclude
from recollect.methods.memr3.loop import RetrievalLoop, is_scope_empty
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import LoopState, apply_reflection
from recollect.methods.memr3.trace import DecisionReason, LoopDecision, LoopRound
from recollect.methods.memr3.tracker import GenerationReply, apply_generation
from recollect.models.language import LanguageModel, Reply
from recollect.ports import Retriever, ignore_event
from recollect.store.protocol import StoreReader

_NODES_PER_ROUND: Final = 3  # the nodes of an iteration: generate, router, and the chosen one


class GraphInput(TypedDict, total=False):
    """The input of a graph: a ``question`` in words and the aware ``now`` of the question, or a whole ``query``.

    The first node clears it. Otherwise, in a thread with a checkpointer, it would also be the input of the next
    question.
    """

    question: Annotated[str, EphemeralValue]
    now: Annotated[datetime, EphemeralValue]
    query: Annotated[Query, EphemeralValue]


class GraphOutput(TypedDict, total=False):
    """The output of a graph: the answer with its trace."""

    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedReply:
    """The reply of the model in an iteration. It has no type parameters, because checkpointers do not support them."""

    value: GenerationReply
    usage: Usage
    model: str
    notes: tuple[str, ...]

    @property
    def reply(self) -> Reply[GenerationReply]:
        return Reply(value=self.value, usage=self.usage, model=self.model, notes=self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphProgress:
    """The data for the receipt and the trace. ``seconds`` is the time of all nodes together."""

    rounds: tuple[LoopRound, ...] = ()
    recalls: tuple[Recall, ...] = ()
    replies: tuple[GeneratedReply, ...] = ()
    failed_usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


class GraphState(GraphInput, GraphOutput, total=False):
    """The state of a graph: the input, the state of the loop, the collected data, and the current iteration."""

    asked: Query
    state: LoopState
    gathered: GraphProgress
    under_way: LoopRound


def memr3_graph(
    source: Retriever | Bank,
    *,
    model: ModelArgument | None = None,
    settings: LoopSettings | None = None,
    reader: StoreReader = NO_BANK,
    clock: Callable[[], datetime] = utc_now,
    **compiled: Any,
) -> CompiledStateGraph[GraphState, None, GraphInput, GraphOutput]:
    """Return MemR3's controller as a compiled graph.

    ``(await graph.ainvoke({"question": "..."}))["answer"]`` is the answer. The graph must be invoked asynchronously.
    Its nodes are start, retrieve, generate, router, reflect, answer and end.

    Args:
        source: a retriever, or a bank. With a bank, the graph uses the bank's retriever, and its model with its ledger
            and limits.
        model: a model, in any form that :meth:`recollect.Memory.open` takes. By default it is the bank's model, or it
            is read from the environment.
        settings: the limits of the loop.
        reader: the reader of the bank that the retriever searches, if there is one.
        clock: returns the aware present for questions without ``now``.
        compiled: arguments for LangGraph's ``compile``, such as a ``checkpointer``.

    Raises:
        InvalidInput: the model's name is not a name.
    """
    settings = settings or LoopSettings()
    if isinstance(source, Bank):
        parts = source.parts()
        chosen = parts.model if model is None else choose_model(model, load_settings(os.environ))
        nodes = GraphNodes(parts.retriever, parts.reader, chosen, settings, clock)
    else:
        nodes = GraphNodes(source, reader, choose_model(model, load_settings(os.environ)), settings, clock)
    graph = StateGraph(GraphState, input_schema=GraphInput, output_schema=GraphOutput)
    for name in ("start", "retrieve", "generate", "router", "reflect", "answer", "end"):
        graph.add_node(name, _restoring_tuples(getattr(nodes, name)))
    graph.add_edge(START, "start")
    graph.add_edge("start", "retrieve")
    graph.add_conditional_edges("retrieve", nodes.route_retrieved, ["generate", "answer"])
    graph.add_conditional_edges("generate", route_generated, ["router", "answer"])
    graph.add_conditional_edges("router", route_decision, ["retrieve", "reflect", "answer"])
    graph.add_edge("reflect", "generate")
    graph.add_edge("answer", "end")
    graph.add_edge("end", END)
    steps = _NODES_PER_ROUND * settings.n_max + 10
    return graph.compile(**compiled).with_config(recursion_limit=steps)


class GraphNodes:
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

    async def start(self, course: GraphState) -> GraphState:
        """Begin with a retrieval for the unchanged question."""
        query = course.get("query") or build_query(
            course["question"], RecallOptions(now=course.get("now")), self._clock()
        )
        first = LoopRound(number=0, decision=LoopDecision.RETRIEVE, why=DecisionReason.START, query=query.text)
        state = LoopState(question=query.text, mask=query.scope.exclude)
        return GraphState(asked=query, state=state, gathered=GraphProgress(), under_way=first)

    async def retrieve(self, course: GraphState) -> GraphState:
        """Search for the question joined with the refinement. Evidence that was seen before is masked (equation 5)."""
        began, loop, state, done = self._resume(course)
        refinement = loop.replies[-1].value.refinement if done.number else ""
        try:
            state = await loop.retrieve(state, refinement)
            done = replace(done, snippets=state.snippets)
        except (ModelError, RecallFailed) as exc:
            done = loop.cut_short(state, done, exc)
        return _finish_round(loop, course, began, state, done)

    async def generate(self, course: GraphState) -> GraphState:
        """Update evidence and gaps, and let the model choose the next action (equation 3)."""
        began, loop, state, _ = self._resume(course)
        done = LoopRound(number=state.iteration, before=state.known, after=state.known)
        try:
            reply = await loop.generate(state)
        except (ModelError, RecallFailed) as exc:
            return _finish_round(loop, course, began, state, loop.cut_short(state, done, exc))
        state = apply_generation(state, reply.value)
        return GraphState(
            state=state, gathered=_update_progress(loop, course, began), under_way=_add_seconds(done, began)
        )

    async def router(self, course: GraphState) -> GraphState:
        """Choose the next action: retrieve, reflect or answer (Algorithm 1)."""
        began, loop, state, done = self._resume(course)
        done = _add_seconds(loop.decide(state, done), began)
        return GraphState(under_way=done, gathered=_update_progress(loop, course, began))

    async def reflect(self, course: GraphState) -> GraphState:
        """Keep the reasoning for the next generation."""
        began, loop, state, done = self._resume(course)
        state = apply_reflection(state, loop.replies[-1].value.reasoning.strip())
        return _finish_round(loop, course, began, state, done)

    async def answer(self, course: GraphState) -> GraphState:
        """Answer from question, draft and evidence (equation 6). Without evidence no model is called."""
        began, loop, state, done = self._resume(course)
        if done not in loop.rounds:
            loop.rounds.append(_add_seconds(done, began))
        answer = await conclude(loop, state, began=began - course["gathered"].seconds)
        return GraphState(answer=answer, gathered=_update_progress(loop, course, began))

    async def end(self, course: GraphState) -> GraphState:
        """Return the answer and end."""
        return GraphState()

    def route_retrieved(self, course: GraphState) -> str:
        """Go to the answer if there is no evidence at all or the retrieval has failed."""
        state, gathered = course["state"], course["gathered"]
        if not state.all_snippets and is_scope_empty(gathered.recalls[0]):
            return "answer"
        return "generate" if gathered.rounds[-1].is_continued else "answer"

    def _resume(self, course: GraphState) -> tuple[float, RetrievalLoop, LoopState, LoopRound]:
        """Return the moment, our loop with the collected data, its state, and the current iteration."""
        gathered = course["gathered"]
        loop = RetrievalLoop(
            query=course["asked"],
            reader=self._reader,
            retriever=self._retriever,
            model=self._model,
            settings=self._settings,
            follow=ignore_event,
            rounds=list(gathered.rounds),
            recalls=list(gathered.recalls),
            replies=[one.reply for one in gathered.replies],
            failed_usage=gathered.failed_usage,
            notes=list(gathered.notes),
        )
        return time.perf_counter(), loop, course["state"], course["under_way"]


def _restoring_tuples(
    node: Callable[[GraphState], Awaitable[GraphState]],
) -> Callable[[GraphState], Awaitable[GraphState]]:
    """Return a node that restores the state from a checkpointer, because a checkpointer turns tuples into lists."""

    async def thawing(course: GraphState) -> GraphState:
        return await node(cast(GraphState, {name: _restore_tuples(value) for name, value in course.items()}))

    return thawing


def _restore_tuples(value: Any) -> Any:
    if isinstance(value, list | tuple):
        cells = tuple(map(_restore_tuples, value))
        same = isinstance(value, tuple) and all(one is other for one, other in zip(cells, value, strict=True))
        return value if same else cells
    if not is_dataclass(value) or isinstance(value, type):
        return value
    old = {field.name: getattr(value, field.name) for field in fields(value)}
    new = {name: _restore_tuples(cell) for name, cell in old.items()}
    return value if all(new[name] is cell for name, cell in old.items()) else replace(value, **new)


def route_generated(course: GraphState) -> str:
    """Go to the router, or to the answer if the generation has failed."""
    rounds = course["gathered"].rounds
    return "answer" if rounds and not rounds[-1].is_continued else "router"


def route_decision(course: GraphState) -> str:
    """Go to the node that the router chose."""
    decision = course["under_way"].decision
    assert decision is not None
    return decision.value


def _finish_round(
    loop: RetrievalLoop, course: GraphState, began: float, state: LoopState, done: LoopRound
) -> GraphState:
    """Return the changes at the end of an iteration."""
    done = _add_seconds(done, began)
    loop.rounds.append(done)
    return GraphState(state=state, under_way=done, gathered=_update_progress(loop, course, began))


def _update_progress(loop: RetrievalLoop, course: GraphState, began: float) -> GraphProgress:
    return GraphProgress(
        rounds=tuple(loop.rounds),
        recalls=tuple(loop.recalls),
        replies=tuple(GeneratedReply(value=r.value, usage=r.usage, model=r.model, notes=r.notes) for r in loop.replies),
        failed_usage=loop.failed_usage,
        notes=tuple(loop.notes),
        seconds=course["gathered"].seconds + time.perf_counter() - began,
    )


def _add_seconds(done: LoopRound, began: float) -> LoopRound:
    return replace(done, seconds=done.seconds + time.perf_counter() - began)
