"""Answer as the default recipe does: with one pass over the evidence, and then with what else the question needs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.answering.answers import abstain_without_evidence, build_receipt, collect_recall_notes
from recollect.answering.evidence import GatheredEvidence, gather_evidence
from recollect.domain.answers import Answer, AnswerReceipt, Step, TraceStep
from recollect.domain.queries import Query
from recollect.domain.recalls import Evidence, Recall
from recollect.errors import ModelError, RecallFailed
from recollect.methods.default.first_pass import SECTIONS, FirstPassReply, build_first_prompt, require_known_numbers
from recollect.methods.default.passages import EvidenceFirstRouter
from recollect.methods.default.recording import MeteredModel, RecordingRetriever
from recollect.methods.default.routing import FailedRoute, Route, RouteTaken, choose_route, fallback_route
from recollect.methods.default.settings import DefaultSettings
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.answer import Reconstructor
from recollect.methods.emem.router import Router
from recollect.methods.memr3.answer import LoopResponder
from recollect.methods.memr3.loop import InitialRetrieval
from recollect.methods.memr3.tracker import GenerationReply
from recollect.methods.recmem.neighbours import add_neighbours
from recollect.models.language import Reply
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader

ROUTE_FAILED: Final = "the route {route} failed: {failure}"
NO_ROOM: Final = "the evidence found does not fit into max_tokens"


class DefaultResponder:
    """Answers in one pass if the evidence suffices, and otherwise searches again.

    See :class:`recollect.ports.Responder`.
    """

    def __init__(self, parts: Dependencies, settings: DefaultSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or DefaultSettings()

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Answer the question. If nothing is found, no model is asked.

        Raises:
            RecallFailed: no search was possible, or a later search failed and the first pass had no answer.
            ModelError: the first pass failed, or a later call failed and the first pass had no answer.
        """
        course = AnswerRun(
            query=query,
            reader=reader,
            follow=listener,
            parts=self._parts,
            settings=self._settings,
            model=MeteredModel(self._parts.model),
            began=time.perf_counter(),
        )
        return Response(answer=await course.run())


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPassResult:
    """The result of the first pass: the evidence that the model was shown, and its reply."""

    gathered: GatheredEvidence
    reply: Reply[FirstPassReply]

    @property
    def value(self) -> FirstPassReply:
        return self.reply.value

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Return the evidence in the order of the entries' numbers."""
        return tuple(entry.evidence for entry in self.gathered.entries)

    @property
    def generated(self) -> Reply[GenerationReply]:
        """Return the reply as the first generation of a loop."""
        reply = self.reply
        return Reply(value=reply.value.to_generation, usage=reply.usage, model=reply.model, notes=reply.notes)

    def best_evidence(self, most: int) -> tuple[Evidence, ...]:
        """Return the cited evidence. If there is none, return the pieces with the highest scores, at most ``most``."""
        cited = [self.gathered.get_entry(number).evidence for number in dict.fromkeys(self.value.citations)]
        return tuple(cited or sorted(self.evidence, key=lambda one: -one.score)[:most])


@dataclass(slots=True, kw_only=True)
class AnswerRun:
    """Takes one question to its answer, and collects what the trace and the receipt need."""

    query: Query
    reader: StoreReader
    follow: Listener
    parts: Dependencies
    settings: DefaultSettings
    model: MeteredModel
    began: float
    steps: list[TraceStep] = field(default_factory=list)
    recalls: list[Recall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def run(self) -> Answer:
        """Return the answer of the first pass, or of the route that the first pass leads to."""
        gathered = await self._gather_evidence()
        self._record_step(gathered.describe())
        if not gathered.entries:
            return _abstain(gathered, self.began)
        first = await self._ask_first_pass(gathered)
        return await self._follow_route(
            first, choose_route(first.value, await self._find_passages_obstacle(first.value))
        )

    async def _gather_evidence(self) -> GatheredEvidence:
        """Return the evidence that fits into a share of the query's tokens. If none fits, use all of the tokens."""
        gathered = await self._recall_share(self.settings.share)
        return await self._recall_share(1.0) if not gathered.entries and _is_cut(gathered) else gathered

    async def _recall_share(self, share: float) -> GatheredEvidence:
        """Recall once over everything, with a share of the query's tokens."""
        room = self.query.max_tokens
        query = replace(self.query, max_tokens=None if room is None else max(1, int(room * share)))
        gathered = await gather_evidence(query, self.reader, self._recording_retriever(), tiers=(), sections=SECTIONS)
        return replace(gathered, entries=await add_neighbours(gathered.entries, self.reader, query))

    async def _ask_first_pass(self, gathered: GatheredEvidence) -> FirstPassResult:
        def check(reply: FirstPassReply) -> None:
            require_known_numbers(reply, gathered)

        asked = time.perf_counter()
        reply = await self.model.generate(build_first_prompt(self.query, gathered), FirstPassReply, check=check)
        seconds = time.perf_counter() - asked
        self._record_step(Step(action="answer", detail=reply.value.reasoning, seconds=seconds, usage=reply.usage))
        self.notes.extend(reply.notes)
        return FirstPassResult(gathered=gathered, reply=reply)

    async def _find_passages_obstacle(self, first: FirstPassReply) -> str | None:
        """Return the reason why no whole passages can be read, or ``None``. It is checked only if they are needed."""
        why_not = await self._build_router().decline_reason(self.query, self.reader) if first.whole else None
        return "items of other kinds are asked for" if why_not == "" else why_not

    async def _follow_route(self, first: FirstPassResult, taken: RouteTaken) -> Answer:
        """Return the answer of a route. If the route leads to no answer, return the answer of the next one."""
        self._record_step(taken)
        try:
            answer = await self._try_route(taken.route, first)
        except (ModelError, RecallFailed) as exc:
            failure = f"{type(exc).__name__}: {exc}"
            self.notes.append(ROUTE_FAILED.format(route=taken.route, failure=failure))
            after = fallback_route(first.value, FailedRoute(route=taken.route, failure=failure))
            if after is None:
                raise
        else:
            in_vain = taken.route is Route.PASSAGES and answer.abstained  # a loop includes the first pass
            after = fallback_route(first.value, FailedRoute(route=taken.route)) if in_vain else None
            if after is None:
                return self._complete_answer(answer)
        return await self._follow_route(first, after)

    async def _try_route(self, chosen: Route, first: FirstPassResult) -> Answer:
        """Return the answer of one route. Its steps and recalls are kept, even if the route fails."""
        if chosen is Route.SUFFICES:
            return self._answer_from_first_pass(first)
        answer = await (self._answer_by_loop(first) if chosen is Route.LOOP else self._answer_by_passages(first))
        self.notes.extend(answer.receipt.notes)
        return answer

    def _answer_from_first_pass(self, first: FirstPassResult) -> Answer:
        """Return the answer of the first pass."""
        return Answer(
            text=first.value.answer,
            abstained=first.value.abstained,
            citations=first.gathered.cite(first.value.citations),
            evidence=first.evidence,
            trace=tuple(self.steps),
            receipt=build_receipt(first.gathered.recalls, [first.reply], self.began),
        )

    async def _answer_by_loop(self, first: FirstPassResult) -> Answer:
        """Run MemR3's loop from the evidence that is already there. This evidence is not retrieved again."""
        begun = InitialRetrieval(
            recalls=first.gathered.recalls,
            evidence=first.evidence,
            seconds=first.gathered.seconds,
            reply=first.generated,
        )
        responder = LoopResponder(self._metered_components(), self.settings.loop)
        return await responder.answer(self.query, self.reader, self._record_step, begun)

    async def _answer_by_passages(self, first: FirstPassResult) -> Answer:
        """Run E-mem's assistants and master over segments with the evidence and over further segments."""
        router = EvidenceFirstRouter(
            router=self._build_router(),
            evidence=first.best_evidence(self.settings.best),
            refinement=first.value.query,
            tau=self.settings.route.tau,
            record=self.recalls.append,
        )
        responder = Reconstructor(self._metered_components(), self.settings.reading, router=router)
        return (await responder.respond(self.query, self.reader, self._record_step)).answer

    def _build_router(self) -> Router:
        return Router(self.parts, self.settings.route)

    def _metered_components(self) -> Dependencies:
        return replace(self.parts, model=self.model, retriever=self._recording_retriever())

    def _recording_retriever(self) -> RecordingRetriever:
        return RecordingRetriever(self.parts.retriever, self.recalls.append)

    def _record_step(self, step: TraceStep) -> None:
        """Record a step, and pass it to the listener."""
        self.steps.append(step)
        self.follow(step)

    def _complete_answer(self, answer: Answer) -> Answer:
        """Return the answer with everything that was done for it, including routes that led to no answer."""
        recalls = tuple(recall.receipt for recall in self.recalls)
        receipt = AnswerReceipt(
            recalls=recalls,
            models=self.model.models,
            usage=sum((recall.usage for recall in recalls), self.model.usage),
            seconds=time.perf_counter() - self.began,
            notes=tuple(dict.fromkeys((*collect_recall_notes(self.recalls), *self.notes))),
        )
        return replace(answer, trace=tuple(self.steps), receipt=receipt)


def _abstain(gathered: GatheredEvidence, began: float) -> Answer:
    """Return the answer if no evidence was found, or if none of it fits into the tokens."""
    answer = abstain_without_evidence(gathered, began)
    if not _is_cut(gathered):
        return answer
    return replace(answer, receipt=replace(answer.receipt, notes=(*answer.receipt.notes, NO_ROOM)))


def _is_cut(gathered: GatheredEvidence) -> bool:
    """Return true if more was found than fits into the tokens."""
    return any(recall.receipt.cut_by_budget for recall in gathered.recalls)
