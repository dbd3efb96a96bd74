"""Answering as the default recipe does: one pass, and what the question needs beyond it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.answering.answers import left_undone, nothing_found, receipt_of
from recollect.answering.evidence import Gathered, gather
from recollect.domain.answers import Answer, AnswerReceipt, Step, Taken, Way
from recollect.domain.queries import Query
from recollect.domain.recalls import Evidence, Recall
from recollect.errors import ModelError, RecallFailed
from recollect.methods.default.first import SECTIONS, FirstPass, first_prompt, require_shown
from recollect.methods.default.passages import HoldingRouter
from recollect.methods.default.route import Tried, fallback_route, told, way
from recollect.methods.default.settings import DefaultSettings
from recollect.methods.default.spending import Kept, Tallied
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.answer import Reconstructor
from recollect.methods.emem.route import Router
from recollect.methods.memr3.answer import EvidenceGapResponder
from recollect.methods.memr3.loop import InitialRetrieval
from recollect.methods.memr3.trace import told as told_round
from recollect.methods.memr3.track import Generated
from recollect.methods.recmem.beside import in_conversation
from recollect.models.language import Reply
from recollect.ports import Event, Listener, Response, ignore_event
from recollect.store.protocol import StoreReader

FAILED: Final = "the way {way} failed: {failure}"
NO_ROOM: Final = "what was found does not fit into max_tokens"


class DefaultResponder:
    """Answers in one pass where the evidence suffices; else looks on. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: DefaultSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or DefaultSettings()

    async def respond(self, query: Query, reader: StoreReader, follow: Listener = ignore_event) -> Response:
        """Answer; where nothing is found, no model is asked.

        Raises:
            RecallFailed: nothing could be looked for, or not again where the first pass had no answer.
            ModelError: the first pass failed, or what followed where the first pass had no answer.
        """
        course = Course(
            query=query,
            reader=reader,
            follow=follow,
            parts=self._parts,
            settings=self._settings,
            model=Tallied(self._parts.model),
            began=time.perf_counter(),
        )
        return Response(answer=await course.answered())


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """What the first pass was shown, and what it has brought."""

    gathered: Gathered
    reply: Reply[FirstPass]

    @property
    def value(self) -> FirstPass:
        return self.reply.value

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """In the order of the entries' numbers."""
        return tuple(entry.evidence for entry in self.gathered.entries)

    @property
    def generated(self) -> Reply[Generated]:
        """The reply as a loop's first generation."""
        reply = self.reply
        return Reply(value=reply.value.generated, usage=reply.usage, model=reply.model, notes=reply.notes)

    def best(self, most: int) -> tuple[Evidence, ...]:
        """The evidence that counts: what is cited, else what was found to be nearest, at most so many pieces."""
        cited = [self.gathered.entry(number).evidence for number in dict.fromkeys(self.value.citations)]
        return tuple(cited or sorted(self.evidence, key=lambda one: -one.score)[:most])


@dataclass(slots=True, kw_only=True)
class Course:
    """One question's way to its answer, and what gathers on it for trace and receipt."""

    query: Query
    reader: StoreReader
    follow: Listener
    parts: Dependencies
    settings: DefaultSettings
    model: Tallied
    began: float
    steps: list[Step] = field(default_factory=list)
    ways: list[Taken] = field(default_factory=list)
    recalls: list[Recall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def answered(self) -> Answer:
        """The answer of the first pass, or of the way that it has led to."""
        gathered = await self._gathered()
        if not gathered.entries:
            return _nothing(gathered, self.began)
        self._told(gathered.told())
        first = await self._first(gathered)
        return await self._gone(first, way(first.value, await self._closed(first.value)))

    async def _gathered(self) -> Gathered:
        """What is found with a part of the query's tokens; with all of them, where nothing fits into that part."""
        gathered = await self._recalled(self.settings.share)
        return await self._recalled(1.0) if not gathered.entries and _is_cut(gathered) else gathered

    async def _recalled(self, share: float) -> Gathered:
        """One recall over everything, with a part of the query's tokens."""
        room = self.query.max_tokens
        query = replace(self.query, max_tokens=None if room is None else max(1, int(room * share)))
        gathered = await gather(query, self.reader, self._retriever(), tiers=(), sections=SECTIONS)
        return replace(gathered, entries=await in_conversation(gathered.entries, self.reader, query))

    async def _first(self, gathered: Gathered) -> First:
        def check(reply: FirstPass) -> None:
            require_shown(reply, gathered)

        asked = time.perf_counter()
        reply = await self.model.generate(first_prompt(self.query, gathered), FirstPass, check=check)
        self._told(Step(action="answer", detail=reply.value.reasoning, seconds=time.perf_counter() - asked))
        self.notes.extend(reply.notes)
        return First(gathered=gathered, reply=reply)

    async def _closed(self, first: FirstPass) -> str | None:
        """Why no whole passages can be read; nobody asks where they are not needed."""
        why_not = await self._router().declines(self.query, self.reader) if first.whole else None
        return "items of other kinds are asked for" if why_not == "" else why_not

    async def _gone(self, first: First, taken: Taken) -> Answer:
        """The answer of the way that is taken; where that comes to nothing, of the one that is taken after it."""
        self.ways.append(taken)
        self._told(told(taken))
        try:
            answer = await self._on(taken.way, first)
        except (ModelError, RecallFailed) as exc:
            failure = f"{type(exc).__name__}: {exc}"
            self.notes.append(FAILED.format(way=taken.way, failure=failure))
            after = fallback_route(first.value, Tried(way=taken.way, failure=failure))
            if after is None:
                raise
        else:
            in_vain = taken.way is Way.PASSAGES and answer.abstained  # a loop has seen all that the first pass has
            after = fallback_route(first.value, Tried(way=taken.way)) if in_vain else None
            if after is None:
                return self._whole(answer)
        return await self._gone(first, after)

    async def _on(self, chosen: Way, first: First) -> Answer:
        """The answer of one way; its steps and recalls are kept, whatever becomes of it."""
        if chosen is Way.SUFFICES:
            return self._by_first(first)
        before = len(self.steps)
        answer = await (self._by_loop(first) if chosen is Way.LOOP else self._by_passages(first))
        self.steps[before:] = answer.trace
        self.notes.extend(answer.receipt.notes)
        return answer

    def _by_first(self, first: First) -> Answer:
        """What the first pass has answered."""
        return Answer(
            text=first.value.answer,
            abstained=first.value.abstained,
            citations=first.gathered.cited(first.value.citations),
            evidence=first.evidence,
            trace=tuple(self.steps),
            receipt=receipt_of(first.gathered.recalls, [first.reply], self.began),
        )

    async def _by_loop(self, first: First) -> Answer:
        """MemR3's loop from the evidence that is there already, which is not brought again."""
        begun = InitialRetrieval(
            recalls=first.gathered.recalls,
            evidence=first.evidence,
            seconds=first.gathered.seconds,
            reply=first.generated,
        )
        responder = EvidenceGapResponder(self._metered(), self.settings.loop)
        return await responder.answered(self.query, self.reader, self._told, begun)

    async def _by_passages(self, first: First) -> Answer:
        """E-mem's assistants and master over the segments that hold the evidence, and those that are found."""
        router = HoldingRouter(
            router=self._router(),
            held=first.best(self.settings.best),
            sought=first.value.query,
            tau=self.settings.route.tau,
            keep=self.recalls.append,
        )
        responder = Reconstructor(self._metered(), self.settings.reading, router=router)
        return (await responder.respond(self.query, self.reader, self._told)).answer

    def _router(self) -> Router:
        return Router(self.parts, self.settings.route)

    def _metered(self) -> Dependencies:
        return replace(self.parts, model=self.model, retriever=self._retriever())

    def _retriever(self) -> Kept:
        return Kept(self.parts.retriever, self.recalls.append)

    def _told(self, event: Event) -> None:
        """Keep what was done as a step, and tell it."""
        self.steps.append(event if isinstance(event, Step) else told_round(event))
        self.follow(event)

    def _whole(self, answer: Answer) -> Answer:
        """The answer with all that was done for it, in vain or not."""
        recalls = tuple(recall.receipt for recall in self.recalls)
        receipt = AnswerReceipt(
            recalls=recalls,
            models=self.model.models,
            usage=sum((recall.usage for recall in recalls), self.model.usage),
            seconds=time.perf_counter() - self.began,
            notes=tuple(dict.fromkeys((*left_undone(self.recalls), *self.notes))),
        )
        return replace(answer, trace=tuple(self.steps), receipt=receipt, ways=tuple(self.ways))


def _nothing(gathered: Gathered, began: float) -> Answer:
    """What is said where nothing was found, or nothing that there is room for."""
    answer = nothing_found(gathered, began)
    if not _is_cut(gathered):
        return answer
    return replace(answer, receipt=replace(answer.receipt, notes=(*answer.receipt.notes, NO_ROOM)))


def _is_cut(gathered: Gathered) -> bool:
    """Whether there was more than the tokens have room for."""
    return any(recall.receipt.cut_by_budget for recall in gathered.recalls)
