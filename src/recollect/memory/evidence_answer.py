"""Answer without a language model: return the evidence, and a note that says why there is no answer."""

from __future__ import annotations

import time

from recollect.answering.answers import NOTHING_FOUND, collect_recall_notes
from recollect.domain.answers import Answer, AnswerReceipt, Step
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.ports import Retriever
from recollect.store.protocol import StoreReader


async def answer_with_evidence(query: Query, retriever: Retriever, reader: StoreReader, *, note: str) -> Answer:
    """Recall once, and return the evidence without an answer. Nothing is invented.

    If nothing is found, the answer says so, because a model could not say more.

    Raises:
        RecallFailed: every arm of the search failed.
    """
    began = time.perf_counter()
    found = await retriever.retrieve(query, reader)
    seconds = time.perf_counter() - began
    notes = (note,) if found.evidence else tuple(collect_recall_notes([found]))
    return Answer(
        text="" if found.evidence else NOTHING_FOUND,
        abstained=True,
        citations=(),
        evidence=found.evidence,
        trace=(Step(action="recall", detail=f"{len(found.evidence)} pieces of evidence", seconds=seconds),),
        receipt=AnswerReceipt(recalls=(found.receipt,), models=(), usage=Usage(), seconds=seconds, notes=notes),
    )
