"""The responder: quotes the best evidence, and needs no model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from recollect.domain.answers import Answer, AnswerReceipt, TraceLine, cite
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.methods.dependencies import Dependencies
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """The sentences to choose from, and the chosen one: a step of the trace."""

    kind: ClassVar[str] = "sixth.quote"
    action: ClassVar[str] = "quote"
    usage: ClassVar[Usage] = Usage()

    sentences: tuple[str, ...]
    seconds: float

    @property
    def detail(self) -> str:
        return f"{len(self.sentences)} sentences"

    @property
    def lines(self) -> tuple[TraceLine, ...]:
        return (TraceLine(text=self.detail, mark='"'), *(TraceLine(text=one, mark="-") for one in self.sentences))


class Quoter:
    def __init__(self, dependencies: Dependencies) -> None:
        self._retriever = dependencies.retriever

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        began = time.perf_counter()
        found = await self._retriever.retrieve(query, reader)
        best = found.evidence[:1]
        sentences = tuple(one.text for one in found.evidence)
        step = Quotation(sentences=sentences, seconds=time.perf_counter() - began)
        listener(step)
        answer = Answer(
            text=f'"{best[0].text}"' if best else "Nothing was said about that.",
            abstained=not best,
            citations=tuple(map(cite, best)),
            evidence=found.evidence,
            trace=(step,),
            receipt=AnswerReceipt(recalls=(found.receipt,), models=(), usage=Usage(), seconds=step.seconds),
        )
        return Response(answer=answer)
