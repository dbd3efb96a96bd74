"""The responder: quotes the best evidence, and needs no model."""

from __future__ import annotations

import time

from recollect.domain.answers import Answer, AnswerReceipt, Step, cite
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.methods.dependencies import Dependencies
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader


class Quoter:
    def __init__(self, dependencies: Dependencies) -> None:
        self._retriever = dependencies.retriever

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        began = time.perf_counter()
        found = await self._retriever.retrieve(query, reader)
        best = found.evidence[:1]
        step = Step(action="quote", detail=f"{len(found.evidence)} sentences", seconds=time.perf_counter() - began)
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
