"""Run the assistants (E-mem, section 3.4): one small model reads each activated segment, all at the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.domain.answers import TraceLine
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.errors import InvalidReply, ModelError
from recollect.methods.emem.prompts import AssistantReply, build_assist_prompt
from recollect.methods.emem.quotes import Quote, verify_quotes
from recollect.methods.emem.segment_view import SegmentView
from recollect.models.language import LanguageModel, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentReading:
    """A reading of a segment by an assistant. See :class:`recollect.domain.answers.TraceStep`.

    ``quotes`` are the words that the assistant has quoted, and ``inference`` is its conclusion from them. ``dropped``
    counts quotes that are not in the segment. ``failure`` is the name of the error if the segment was not read.
    """

    kind: ClassVar[str] = "emem.reading"
    action: ClassVar[str] = "assist"
    lines: ClassVar[tuple[TraceLine, ...]] = ()

    segment: int
    quotes: tuple[str, ...]
    dropped: int
    inference: str
    failure: str
    usage: Usage
    seconds: float

    @property
    def detail(self) -> str:
        return f"segment {self.segment}: {self._describe()}"

    def _describe(self) -> str:
        if self.failure:
            return f"not read ({self.failure})"
        if not self.quotes and not self.dropped:
            return "nothing on this"
        told = [_count_quotes(len(self.quotes))]
        if self.dropped:
            told.append(f"{self.dropped} dropped, not in it")
        return "; ".join([*told, *([self.inference] if self.inference else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantReport:
    """The result of one assistant.

    ``dropped`` counts quotes that are not in its segment. ``error`` is the reason if it returned nothing at all.
    """

    segment: int
    seconds: float
    quotes: tuple[Quote, ...] = ()
    dropped: int = 0
    reply: Reply[AssistantReply] | None = None
    error: ModelError | None = None

    @property
    def inference(self) -> str:
        """Return the assistant's conclusion from its quotes. It is empty if no quote is left to support it."""
        return self.reply.value.inference.strip() if self.reply and self.quotes else ""

    @property
    def usage(self) -> Usage:
        """Return the cost of the call, also if it failed."""
        if self.reply is not None:
            return self.reply.usage
        failed = None if self.error is None else self.error.usage
        return failed if isinstance(failed, Usage) else Usage()

    def step(self) -> SegmentReading:
        """Return the assistant's work as a step of the trace."""
        return SegmentReading(
            segment=self.segment,
            quotes=tuple(quote.words for quote in self.quotes),
            dropped=self.dropped,
            inference=self.inference,
            failure="" if self.error is None else type(self.error).__name__,
            usage=self.usage,
            seconds=self.seconds,
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on the problems of this assistant."""
        if self.error is not None:
            return (f"segment {self.segment} was not read: {type(self.error).__name__}: {self.error}",)
        end = f"of segment {self.segment} {'is' if self.dropped == 1 else 'are'} not in it, and dropped"
        dropped = (f"{_count_quotes(self.dropped)} {end}",) if self.dropped else ()
        return (*dropped, *(self.reply.notes if self.reply else ()))


async def ask_assistants(
    query: Query, readings: Sequence[SegmentView], model: LanguageModel, *, concurrency: int
) -> tuple[AssistantReport, ...]:
    """Ask the assistants of all segments, at most ``concurrency`` at a time (equation 6). A failed assistant reports
    its error.

    Raises:
        ModelError: all assistants failed. A missing model is reported first, because it says nothing about a segment.
    """
    room = asyncio.Semaphore(concurrency)

    async def one(reading: SegmentView) -> AssistantReport:
        async with room:
            return await _ask_assistant(query, reading, model)

    ended = await asyncio.gather(*map(one, readings), return_exceptions=True)  # so that none goes on unseen
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    assisted = tuple(one for one in ended if isinstance(one, AssistantReport))
    errors = [one.error for one in assisted if one.error is not None]
    if errors and len(errors) == len(assisted):
        raise next((error for error in errors if not isinstance(error, InvalidReply)), errors[0])
    return assisted


async def _ask_assistant(query: Query, reading: SegmentView, model: LanguageModel) -> AssistantReport:
    began = time.perf_counter()
    try:
        reply = await model.generate(build_assist_prompt(reading, query), AssistantReply)
    except ModelError as exc:
        return AssistantReport(segment=reading.number, seconds=time.perf_counter() - began, error=exc)
    quotes, dropped = verify_quotes([(quoted.words, quoted.shows) for quoted in reply.value.quotes], reading)
    return AssistantReport(
        segment=reading.number,
        seconds=time.perf_counter() - began,
        quotes=quotes,
        dropped=dropped,
        reply=reply,
    )


def _count_quotes(quotes: int) -> str:
    return "1 quote" if quotes == 1 else f"{quotes} quotes"
