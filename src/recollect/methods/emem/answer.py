"""Answering by reconstruction (E-mem, section 3.4): segments are read anew for a question, in one pass or several, and
a master joins what they say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from recollect.answering.answers import NOTHING_FOUND, receipt_of
from recollect.domain.answers import Answer, AnswerReceipt, Citation, Step
from recollect.domain.queries import Query
from recollect.domain.recalls import Evidence, Recall
from recollect.domain.usage import Usage
from recollect.errors import ModelError, RecallFailed
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.activation import Hit
from recollect.methods.emem.assistants import ask_all
from recollect.methods.emem.evidence import evidence_within
from recollect.methods.emem.known import Ending, Known, told
from recollect.methods.emem.master import Aggregated, Plan, answer_prompt, plan_prompt, require_quotes
from recollect.methods.emem.quotes import Quote, in_order
from recollect.methods.emem.reading import read_scoped
from recollect.methods.emem.route import Routed, Router
from recollect.methods.emem.settings import Mode, ReconstructionSettings
from recollect.models.language import Reply
from recollect.ports import Listener, Response, ignore_event
from recollect.recall.trim import fitting
from recollect.store.capabilities import require_segments
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_all


class Routes(Protocol):
    """Finds the segments that are read for a question; :class:`Router` does."""

    async def declines(self, query: Query, reader: StoreReader) -> str | None: ...

    async def route(self, query: Query, reader: StoreReader) -> Routed: ...

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall: ...


class Reconstructor:
    """Answers from segments that small models read for the question. See :class:`recollect.ports.Responder`.

    ``router`` finds the segments; where none is given, the recipe's own retriever does, or a new router over it.
    """

    def __init__(
        self, parts: Dependencies, settings: ReconstructionSettings | None = None, *, router: Routes | None = None
    ) -> None:
        own = parts.retriever if isinstance(parts.retriever, Router) else None
        self._model, self._settings = parts.model, settings or ReconstructionSettings()
        self._router = router or own or Router(parts)

    async def respond(self, query: Query, reader: StoreReader, follow: Listener = ignore_event) -> Response:
        """Route, have the segments read, and answer from their quotes; without any, no master is asked.

        Where the query is not for segments, or the bank has none, single items stand in for quotes.

        Raises:
            RecallFailed: no evidence could be looked for.
            ModelError: the master failed, or every assistant of the first pass.
        """
        began = time.perf_counter()
        why_not = await self._router.declines(query, reader)
        if why_not is None:
            known = await self._known(query, reader, follow)
        else:
            known = _told(await self._stand_in(query, reader), Known(), follow)
        quotes, notes = _fitting(known.quotes, query.max_tokens)
        known = replace(known, notes=(*known.notes, *notes))
        if not quotes:
            return Response(answer=_unanswered(known, began))
        return Response(answer=await self._answered(query, known, quotes, began))

    async def _known(self, query: Query, reader: StoreReader, follow: Listener) -> Known:
        """What one pass brings (equation 7), or as many as it takes (equation 8)."""
        known = _told(await self._pass(query, query.text, reader, Known()), Known(), follow)
        if self._settings.mode is Mode.DIRECT:
            return known
        for _ in range(self._settings.steps - 1):
            known = _told(await self._planned(query, known), known, follow)
            plan = known.plans[-1].value
            if ending := known.ending_by(plan):
                return known.ended(ending)
            before = known
            try:
                known = _told(await self._pass(query, plan.query, reader, known), known, follow)
            except (ModelError, RecallFailed) as exc:  # what the earlier passes have brought still counts
                return known.ended(Ending.FAILED, f"pass {len(known.asked) + 1}: {type(exc).__name__}: {exc}")
            if len(known.quotes) == len(before.quotes):
                return known.ended(Ending.CONVERGED)
        return known.ended(Ending.LIMIT)

    async def _pass(self, query: Query, question: str, reader: StoreReader, known: Known) -> Known:
        """Ask the segments that a question activates, all at once."""
        began = time.perf_counter()
        asked = replace(query, text=question)
        routed = await self._router.route(asked, reader)
        numbers = [one.number for one in routed.activated]
        texts = await read_scoped(require_segments(reader), numbers, query.scope)
        open_ = tuple(pair for pair in zip(routed.activated, texts, strict=True) if pair[1].text)
        step = told(routed.activated, time.perf_counter() - began)
        readings = [reading for _, reading in open_]
        assisted = await ask_all(asked, readings, self._model, concurrency=self._settings.concurrency)
        return known.after(question, routed.recall, open_, assisted, step)

    async def _planned(self, query: Query, known: Known) -> Known:
        """What to ask next, or that nothing is left to ask (equation 8)."""
        began = time.perf_counter()
        quotes, _ = _fitting(known.quotes, query.max_tokens)
        prompt = plan_prompt(query, known.asked, quotes, known.assisted)
        return known.planned(await self._model.generate(prompt, Plan), time.perf_counter() - began)

    async def _stand_in(self, query: Query, reader: StoreReader) -> Known:
        """Single items in place of quotes."""
        began = time.perf_counter()
        recall = await self._router.retrieve(query, reader)
        quotes = tuple(_quoted(one) for one in recall.evidence)
        detail = f"{len(quotes)} single items" if quotes else "nothing found"
        step = Step(action="recall", detail=detail, seconds=time.perf_counter() - began)
        return Known(asked=(query.text,), recalls=(recall,), quotes=quotes, steps=(step,))

    async def _answered(self, query: Query, known: Known, quotes: Sequence[Quote], began: float) -> Answer:
        """The master's answer (equation 7)."""

        def check(reply: Aggregated) -> None:
            require_quotes(reply.citations, quotes)

        asked = time.perf_counter()
        prompt = answer_prompt(query, quotes, known.assisted)
        reply = await self._model.generate(prompt, Aggregated, check=check)
        step = Step(action="answer", detail=reply.value.trace, seconds=time.perf_counter() - asked)
        cited = [quotes[number - 1] for number in dict.fromkeys(reply.value.citations)]
        evidence = await asyncio.to_thread(_evidence, known, cited or quotes, query.max_tokens)
        return Answer(
            text=reply.value.answer,
            abstained=reply.value.abstained,
            citations=tuple(Citation(id=q.id, kind=q.kind, text=q.words, sources=q.messages) for q in cited),
            evidence=evidence,
            trace=(*known.steps, step),
            receipt=_receipt(known, [*_replies(known), reply], began, reply.notes),
        )


def _told(known: Known, before: Known, follow: Listener) -> Known:
    """What is known, once who follows has been told how it came to be more than ``before``."""
    for step in known.steps[len(before.steps) :]:
        follow(step)
    return known


def _quoted(evidence: Evidence) -> Quote:
    """A single item as a quote."""
    return Quote(
        id=evidence.id,
        kind=evidence.kind,
        words=evidence.text,
        speaker=evidence.speaker,
        at=evidence.mentioned,
        messages=evidence.sources,
    )


def _fitting(quotes: Sequence[Quote], max_tokens: int | None) -> tuple[tuple[Quote, ...], tuple[str, ...]]:
    """As many quotes as fit, those of the strongest segments first; in the order in which they are shown, and a note
    of what was cut."""
    kept = fitting(count_all([quote.words for quote in quotes]), max_tokens)
    cut = len(quotes) - kept
    notes = (f"{cut} of {len(quotes)} quotes were cut by the budget of {max_tokens} tokens",) if cut else ()
    return in_order(quotes[:kept]), notes


def _evidence(known: Known, quotes: Sequence[Quote], max_tokens: int | None) -> tuple[Evidence, ...]:
    """What quotes were read in: single items as they were found, and segments.

    Where there is no room for a segment, it is the lines that the quotes are of.
    """
    ids = {quote.id for quote in quotes}
    single = (one for recall in known.recalls for one in recall.evidence if one.id in ids)
    hits: dict[str, list[Hit]] = {}
    for rank, quote in enumerate(quotes):
        hit = Hit(words=quote.words, messages=quote.messages, segments=(), strengths={}, strength=-float(rank))
        hits.setdefault(quote.id, []).append(hit)
    first = {reading.id: (one, reading) for one, reading in reversed(known.read)}
    pairs = [(replace(one, hits=tuple(hits[id_])), reading) for id_, (one, reading) in first.items() if id_ in ids]
    pairs.sort(key=lambda pair: -pair[0].strength)
    return (*single, *evidence_within(pairs, max_tokens)[0])


def _receipt(known: Known, replies: Sequence[Reply[Any]], began: float, notes: Sequence[str] = ()) -> AnswerReceipt:
    """How the answer was made; what assistants cost that brought nothing counts too."""
    failed = (one.error.usage for one in known.assisted if one.error is not None)
    lost = sum((usage for usage in failed if isinstance(usage, Usage)), Usage())
    return receipt_of(known.recalls, replies, began, (*known.notes, *notes), lost=lost)


def _replies(known: Known) -> list[Reply[Any]]:
    """What assistants and planner have replied."""
    replies: list[Reply[Any]] = [one.reply for one in known.assisted if one.reply is not None]
    return [*replies, *known.plans]


def _unanswered(known: Known, began: float) -> Answer:
    """What is said where no quote is left."""
    return Answer(
        text=NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=(),
        trace=known.steps,
        receipt=_receipt(known, _replies(known), began),
    )
