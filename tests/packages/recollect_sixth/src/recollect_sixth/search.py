"""The retriever: items by the words that they share with the question."""

from __future__ import annotations

import time

from recollect.domain.items import ItemKind
from recollect.domain.queries import Query
from recollect.domain.recalls import ArmRank, ArmReport, ArmStatus, Recall, RecallReceipt, make_evidence
from recollect.methods.dependencies import Dependencies
from recollect.store.protocol import StoreReader
from recollect.text.terms import extract_terms

ARM = "shared_words"


class WordRetriever:
    def __init__(self, dependencies: Dependencies) -> None:
        pass

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        began = time.perf_counter()
        asked = set(extract_terms(query.text).tolist())
        items = await reader.items_of([ItemKind.TURN, ItemKind.SUMMARY])
        scored = [(len(asked & set(extract_terms(item.text).tolist())) / max(1, len(asked)), item) for item in items]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].id))
        kept = best[: query.limit]
        evidence = tuple(
            make_evidence(item, score, (ArmRank(arm=ARM, rank=rank, score=score),))
            for rank, (score, item) in enumerate(kept, start=1)
        )
        seconds = time.perf_counter() - began
        report = ArmReport(arm=ARM, status=ArmStatus.OK, seconds=seconds, candidates=len(best))
        receipt = RecallReceipt(
            arms=(report,),
            fusion="none",
            reranker=None,
            candidates=len(best),
            cut_by_limit=len(best) - len(kept),
            cut_by_budget=0,
            tokens=sum(one.tokens for one in evidence),
            during=None,
            seconds=seconds,
        )
        return Recall(evidence=evidence, receipt=receipt)
