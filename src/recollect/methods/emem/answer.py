"""Answer by reconstruction (E-mem, section 3.4): assistants read segments for the question, and a master joins their
quotes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from recollect._threads import run_in_thread
from recollect.answering.answers import NOTHING_FOUND, build_receipt
from recollect.domain.answers import Answer, AnswerReceipt, Citation, Step
from recollect.domain.queries import Query
from recollect.domain.recalls import Evidence, Recall
from recollect.domain.usage import Usage
from recollect.errors import ModelError, RecallFailed
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.activation import TurnHit
from recollect.methods.emem.assistants import ask_assistants
from recollect.methods.emem.evidence import fit_evidence
from recollect.methods.emem.master import MasterReply, PassPlan, build_answer_prompt, build_plan_prompt, require_quotes
from recollect.methods.emem.quotes import Quote, sort_quotes
from recollect.methods.emem.reasoning_trace import ReasoningTrace, StopReason, describe_routing
from recollect.methods.emem.router import RoutedSegments, Router
from recollect.methods.emem.segment_view import read_segment_views
from recollect.methods.emem.settings import Mode, ReconstructionSettings
from recollect.models.language import Reply
from recollect.ports import Listener, Response, ignore_event
from recollect.recall.trim import count_fitting
from recollect.store.capabilities import require_segments
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_all


class SegmentRouter(Protocol):
    """Finds the segments to read for a question. :class:`Router` is one."""

    async def decline_reason(self, query: Query, reader: StoreReader) -> str | None: ...

    async def route(self, query: Query, reader: StoreReader) -> RoutedSegments: ...

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall: ...


class Reconstructor:
    """Answers from segments that small models read for the question. See :class:`recollect.ports.Responder`.

    ``router`` finds the segments. Without it, the recipe's own retriever does, or a new router over that retriever.
    """

    def __init__(
        self,
        parts: Dependencies,
        settings: ReconstructionSettings | None = None,
        *,
        router: SegmentRouter | None = None,
    ) -> None:
        own = parts.retriever if isinstance(parts.retriever, Router) else None
        self._model, self._settings = parts.model, settings or ReconstructionSettings()
        self._router = router or own or Router(parts)

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Route the question, have the segments read, and answer from their quotes. Without quotes the master is not
        called.

        If the query is not for segments, or the bank has none, single items replace the quotes.

        Raises:
            RecallFailed: no evidence could be searched.
            ModelError: the master failed, or every assistant of the first pass.
        """
        began = time.perf_counter()
        why_not = await self._router.decline_reason(query, reader)
        if why_not is None:
            known = await self._run_passes(query, reader, listener)
        else:
            known = _report_steps(await self._recall_items_instead(query, reader), ReasoningTrace(), listener)
        quotes, notes = _fit_quotes(known.quotes, query.max_tokens)
        known = replace(known, notes=(*known.notes, *notes))
        if not quotes:
            return Response(answer=_abstain(known, began))
        return Response(answer=await self._ask_master(query, known, quotes, listener, began=began))

    async def _run_passes(self, query: Query, reader: StoreReader, follow: Listener) -> ReasoningTrace:
        """Return the results of one pass (equation 7), or of as many passes as the question needs (equation 8)."""
        known = _report_steps(
            await self._run_pass(query, query.text, reader, ReasoningTrace()), ReasoningTrace(), follow
        )
        if self._settings.mode is Mode.DIRECT:
            return known
        ending, notes = StopReason.LIMIT, list[str]()
        for _ in range(self._settings.steps - 1):
            known = _report_steps(await self._plan_next(query, known), known, follow)
            plan, count = known.plans[-1].value, len(known.quotes)
            if reason := known.stop_reason_of(plan):
                ending = reason
                break
            try:
                known = _report_steps(await self._run_pass(query, plan.query, reader, known), known, follow)
            except (ModelError, RecallFailed) as exc:  # what the earlier passes have brought still counts
                ending = StopReason.FAILED
                notes.append(f"pass {len(known.questions) + 1}: {type(exc).__name__}: {exc}")
                break
            if len(known.quotes) == count:
                ending = StopReason.CONVERGED
                break
        return _report_steps(known.with_ending(ending, *notes), known, follow)

    async def _run_pass(
        self, query: Query, question: str, reader: StoreReader, known: ReasoningTrace
    ) -> ReasoningTrace:
        """Ask all segments that a question activates, at the same time."""
        began = time.perf_counter()
        asked = replace(query, text=question)
        routed = await self._router.route(asked, reader)
        numbers = [one.number for one in routed.activated]
        texts = await read_segment_views(require_segments(reader), numbers, query.scope, routed.segments)
        open_ = tuple(pair for pair in zip(routed.activated, texts, strict=True) if pair[1].text)
        step = describe_routing(routed.activated, time.perf_counter() - began)
        readings = [reading for _, reading in open_]
        assisted = await ask_assistants(asked, readings, self._model, concurrency=self._settings.concurrency)
        return known.with_pass(question, routed.as_recall, open_, assisted, step)

    async def _plan_next(self, query: Query, known: ReasoningTrace) -> ReasoningTrace:
        """Add the next question, or the end of the passes (equation 8)."""
        began = time.perf_counter()
        quotes, _ = _fit_quotes(known.quotes, query.max_tokens)
        prompt = build_plan_prompt(query, known.questions, quotes, known.reports)
        return known.with_plan(await self._model.generate(prompt, PassPlan), time.perf_counter() - began)

    async def _recall_items_instead(self, query: Query, reader: StoreReader) -> ReasoningTrace:
        """Return single items in place of quotes."""
        began = time.perf_counter()
        recall = await self._router.retrieve(query, reader)
        quotes = tuple(_quote_evidence(one) for one in recall.evidence)
        detail = f"{len(quotes)} single items" if quotes else "nothing found"
        step = Step(action="recall", detail=detail, seconds=time.perf_counter() - began)
        return ReasoningTrace(questions=(query.text,), recalls=(recall,), quotes=quotes, steps=(step,))

    async def _ask_master(
        self, query: Query, known: ReasoningTrace, quotes: Sequence[Quote], listener: Listener, *, began: float
    ) -> Answer:
        """Return the master's answer (equation 7)."""

        def check(reply: MasterReply) -> None:
            require_quotes(reply.citations, quotes)

        asked = time.perf_counter()
        prompt = build_answer_prompt(query, quotes, known.reports)
        reply = await self._model.generate(prompt, MasterReply, check=check)
        seconds = time.perf_counter() - asked
        step = Step(action="answer", detail=reply.value.trace, seconds=seconds, usage=reply.usage)
        listener(step)
        cited = [quotes[number - 1] for number in dict.fromkeys(reply.value.citations)]
        evidence = await run_in_thread(_collect_evidence, known, cited or quotes, query.max_tokens)
        return Answer(
            text=reply.value.answer,
            abstained=reply.value.abstained,
            citations=tuple(Citation(id=q.id, kind=q.kind, text=q.words, sources=q.messages) for q in cited),
            evidence=evidence,
            trace=(*known.steps, step),
            receipt=_build_receipt(known, [*_collect_replies(known), reply], began, reply.notes),
        )


def _report_steps(known: ReasoningTrace, before: ReasoningTrace, follow: Listener) -> ReasoningTrace:
    """Return what is known, after the listener has received the steps since ``before``."""
    for step in known.steps[len(before.steps) :]:
        follow(step)
    return known


def _quote_evidence(evidence: Evidence) -> Quote:
    """Return a single item as a quote."""
    return Quote(
        id=evidence.id,
        kind=evidence.kind,
        words=evidence.text,
        speaker=evidence.speaker,
        at=evidence.mentioned,
        messages=evidence.sources,
    )


def _fit_quotes(quotes: Sequence[Quote], max_tokens: int | None) -> tuple[tuple[Quote, ...], tuple[str, ...]]:
    """Return the quotes that fit, in the order in which they are shown, and a note on those that were cut.

    Quotes of the strongest segments are kept first.
    """
    kept = count_fitting(count_all([quote.words for quote in quotes]), max_tokens)
    cut = len(quotes) - kept
    notes = (f"{cut} of {len(quotes)} quotes were cut by the budget of {max_tokens} tokens",) if cut else ()
    return sort_quotes(quotes[:kept]), notes


def _collect_evidence(known: ReasoningTrace, quotes: Sequence[Quote], max_tokens: int | None) -> tuple[Evidence, ...]:
    """Return the sources of the quotes as evidence: single items as they were found, and segments.

    If there is no space for a whole segment, the evidence has the lines of the quotes.
    """
    ids = {quote.id for quote in quotes}
    single = (one for recall in known.recalls for one in recall.evidence if one.id in ids)
    hits: dict[str, list[TurnHit]] = {}
    for rank, quote in enumerate(quotes):
        hit = TurnHit(words=quote.words, messages=quote.messages, segments=(), strengths={}, strength=-float(rank))
        hits.setdefault(quote.id, []).append(hit)
    first = {reading.id: (one, reading) for one, reading in reversed(known.readings)}
    pairs = [(replace(one, hits=tuple(hits[id_])), reading) for id_, (one, reading) in first.items() if id_ in ids]
    pairs.sort(key=lambda pair: -pair[0].strength)
    return (*single, *fit_evidence(pairs, max_tokens)[0])


def _build_receipt(
    known: ReasoningTrace, replies: Sequence[Reply[Any]], began: float, notes: Sequence[str] = ()
) -> AnswerReceipt:
    """Return the receipt of the answer. It includes the cost of assistants that found nothing."""
    lost = sum((one.usage for one in known.reports if one.error is not None), Usage())
    return build_receipt(known.recalls, replies, began, (*known.notes, *notes), failed_usage=lost)


def _collect_replies(known: ReasoningTrace) -> list[Reply[Any]]:
    """Return the replies of the assistants and the planner."""
    replies: list[Reply[Any]] = [one.reply for one in known.reports if one.reply is not None]
    return [*replies, *known.plans]


def _abstain(known: ReasoningTrace, began: float) -> Answer:
    """Return the answer without any quote: it abstains."""
    return Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=(),
        trace=known.steps,
        receipt=_build_receipt(known, _collect_replies(known), began),
    )
