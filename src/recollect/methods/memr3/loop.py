"""Run the loop (section 3.2): retrieve, generate and route, again and again, until the question can be answered."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.domain.queries import Query
from recollect.domain.recalls import ArmStatus, Evidence, Recall
from recollect.domain.usage import Usage
from recollect.errors import ModelError, RecallFailed
from recollect.methods.memr3.prompts import build_generate_prompt
from recollect.methods.memr3.router import decide
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.snippets import number_snippets
from recollect.methods.memr3.state import LoopState, apply_reflection, apply_retrieval, build_query_text, drop_seen
from recollect.methods.memr3.trace import DecisionReason, LoopDecision, LoopRound
from recollect.methods.memr3.tracker import GenerationReply, apply_generation, require_known_snippets
from recollect.models.language import LanguageModel, Reply
from recollect.ports import Listener, Retriever
from recollect.recall.settings import Arm
from recollect.store.protocol import StoreReader

REPEATED: Final = "the retriever returned what its query excludes: {count} snippets were dropped"
NO_ROOM: Final = "the evidence found for {query!r} does not fit into the rest of max_tokens"
CUT_SHORT: Final = "iteration {number} failed, and the answer rests on what was known until then: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialRetrieval:
    """A first retrieval that was made outside the loop, with the model's reply to it. The loop continues from there.

    ``evidence`` is in the order of its numbers, which the reply uses. ``seconds`` is the time of the retrieval.
    """

    recalls: tuple[Recall, ...]
    evidence: tuple[Evidence, ...]
    seconds: float
    reply: Reply[GenerationReply]


@dataclass(slots=True)
class RetrievalLoop:
    """Takes one question through the loop, and collects what the receipt needs.

    :meth:`run` takes all steps. The other methods are for callers that take the steps one by one, such as the nodes of
    a graph. If ``begun`` is given, it counts as the first retrieval and the first generation.
    """

    query: Query
    reader: StoreReader
    retriever: Retriever
    model: LanguageModel
    settings: LoopSettings
    follow: Listener
    initial: InitialRetrieval | None = None
    rounds: list[LoopRound] = field(default_factory=list)
    recalls: list[Recall] = field(default_factory=list)
    replies: list[Reply[GenerationReply]] = field(default_factory=list)
    failed_usage: Usage = Usage()
    notes: list[str] = field(default_factory=list)

    async def run(self) -> LoopState:
        """Run the loop and return its last state, from which the question is answered.

        The state has no snippets if nothing is in scope.

        If something fails when there is already evidence, the loop ends with a note.

        Raises:
            RecallFailed, ModelError: something failed before there was any evidence.
        """
        state = await self._start()
        if not state.all_snippets and is_scope_empty(self.recalls[0]):
            return state
        while self.rounds[-1].is_continued:
            state = await self._iterate(state)
        return state

    async def _start(self) -> LoopState:
        began = time.perf_counter()
        seconds = 0.0 if self.initial is None else self.initial.seconds
        state = LoopState(question=self.query.text, mask=self.query.scope.exclude)
        state = await self.retrieve(state, "") if self.initial is None else self._take_over(state, self.initial)
        self._finish_round(
            LoopRound(
                number=0,
                decision=LoopDecision.RETRIEVE,
                why=DecisionReason.START,
                query=state.question,
                snippets=state.snippets,
                seconds=seconds + time.perf_counter() - began,
            )
        )
        return state

    def _take_over(self, state: LoopState, begun: InitialRetrieval) -> LoopState:
        """Return the state after a retrieval that was made outside the loop.

        Its snippets are masked like any others.
        """
        self.recalls.extend(begun.recalls)
        return apply_retrieval(state, "", number_snippets(begun.evidence, 0))

    async def _iterate(self, state: LoopState) -> LoopState:
        """Generate, route, and act.

        If something fails when there is already evidence, the trace and the notes report it.
        """
        began = time.perf_counter()
        done = LoopRound(number=state.iteration, before=state.known, after=state.known)
        try:
            reply = await self.generate(state)
            state = apply_generation(state, reply.value)
            done = self.decide(state, done)
            if done.decision is LoopDecision.RETRIEVE:
                state = await self.retrieve(state, reply.value.refinement)
                done = replace(done, snippets=state.snippets)
            elif done.decision is LoopDecision.REFLECT:
                state = apply_reflection(state, reply.value.reasoning.strip())
        except (ModelError, RecallFailed) as exc:
            done = self.cut_short(state, done, exc)
        self._finish_round(replace(done, seconds=time.perf_counter() - began))
        return state

    async def generate(self, state: LoopState) -> Reply[GenerationReply]:
        """Ask the model to update evidence and gaps, and to choose a decision (equation 3).

        Raises:
            ModelError: the model failed.
        """

        def check(reply: GenerationReply) -> None:
            require_known_snippets(reply, state)

        if self.initial is not None and state.iteration == 1:
            reply = self.initial.reply
        else:
            reply = await self.model.generate(
                build_generate_prompt(self.query, state, self.settings), GenerationReply, check=check
            )
        self.replies.append(reply)
        self.notes.extend(reply.notes)
        return reply

    def decide(self, state: LoopState, done: LoopRound) -> LoopRound:
        """Return the iteration with its generation and with the router's decision (Algorithm 1).

        The state already includes the generation.
        """
        reply = self.replies[-1]
        wanted = LoopDecision(reply.value.decision)
        routed = decide(state, wanted, self.settings)
        sought = build_query_text(state, reply.value.refinement) if routed.decision is LoopDecision.RETRIEVE else ""
        return replace(
            done,
            decision=routed.decision,
            why=routed.why,
            wanted=wanted,
            content=reply.value.content,
            query=sought,
            after=state.known,
            usage=reply.usage,
        )

    async def retrieve(self, state: LoopState, refinement: str) -> LoopState:
        """Search for the question joined with the refinement. The store masks everything that was seen (equation 5).

        Raises:
            RecallFailed, ModelError: no search was possible.
        """
        spent = sum(snippet.evidence.tokens for snippet in state.all_snippets)
        room = self.query.max_tokens
        sought = replace(
            self.query,
            text=build_query_text(state, refinement),
            limit=min(self.settings.n_chk, self.query.limit),
            max_tokens=None if room is None else max(room - spent, 0),
            scope=replace(self.query.scope, exclude=state.mask),
        )
        recall = await self.retriever.retrieve(sought, self.reader)
        self.recalls.append(recall)
        found = drop_seen(state, recall.evidence)[: sought.limit]
        if repeated := sum(one.id in state.mask for one in recall.evidence):
            self.notes.append(REPEATED.format(count=repeated))
        if not found and recall.receipt.cut_by_budget:
            self.notes.append(NO_ROOM.format(query=sought.text))
        return apply_retrieval(state, refinement, number_snippets(found, len(state.all_snippets)))

    def cut_short(self, state: LoopState, done: LoopRound, error: ModelError | RecallFailed) -> LoopRound:
        """Return the iteration as the last one, because something in it has failed.

        Raises:
            RecallFailed, ModelError: the error itself, if there is no evidence yet to answer from.
        """
        if not state.known.evidence:
            raise error
        told = f"{type(error).__name__}: {error}"
        self.notes.append(CUT_SHORT.format(number=done.number, error=told))
        cost = error.usage if isinstance(error, ModelError) and isinstance(error.usage, Usage) else Usage()
        self.failed_usage += cost
        return replace(done, failure=told, usage=done.usage + cost)

    def _finish_round(self, done: LoopRound) -> None:
        self.rounds.append(done)
        self.follow(done)


def is_scope_empty(recall: Recall) -> bool:
    """Return true if no query can find anything: the arm that ranks everything in scope has found nothing."""
    return any(
        arm.arm == Arm.SEMANTIC and arm.status is ArmStatus.OK and not arm.candidates for arm in recall.receipt.arms
    )
