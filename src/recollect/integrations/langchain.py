"""Use LangChain's retrievers and vector stores under MemR3, and a bank as a LangChain retriever."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any

from recollect.domain.items import ItemKind
from recollect.domain.recalls import Evidence
from recollect.domain.time import Interval
from recollect.errors import MissingExtra
from recollect.integrations.foreign_memory import ForeignPiece, ForeignRetriever
from recollect.integrations.metadata_fields import STANDARD, MetadataFields, read_piece
from recollect.integrations.portal import AnyBank, BankPortal
from recollect.memory.query_options import RecallOptions

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
except ImportError as exc:
    raise MissingExtra("langchain-core", "langchain") from exc


class LangChainRetriever(ForeignRetriever):
    """Finds evidence with a ``BaseRetriever`` or a ``VectorStore``. See :class:`recollect.ports.Retriever`.

    It requests more if the result contains documents that were seen before. A retriever without ``k`` decides alone how
    many documents it returns. Those that were seen before are dropped, and no others replace them.

    Args:
        source: the retriever, or the vector store.
        fields: the keys in the metadata of the documents. A document without an id gets one made from its text.
        deadline_s: the maximum time of a search, in seconds.
    """

    def __init__(
        self, source: BaseRetriever | VectorStore, *, fields: MetadataFields = STANDARD, deadline_s: float = 30.0
    ) -> None:
        super().__init__(_LangChainBackend(source, fields), deadline_s=deadline_s)


class _LangChainBackend:
    name = "langchain"
    masks = False

    def __init__(self, source: BaseRetriever | VectorStore, fields: MetadataFields) -> None:
        self._source, self._fields = source, fields

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[ForeignPiece]:
        documents = await self._fetch_documents(text, count)
        return [
            read_piece(
                document.metadata,
                self._fields,
                text=document.page_content,
                own_id=document.id,
                score=1.0 / rank,
                kind=ItemKind.SEGMENT,
            )
            for rank, document in enumerate(documents, start=1)
        ]

    async def _fetch_documents(self, text: str, count: int) -> list[Any]:
        if isinstance(self._source, VectorStore):
            return list(await self._source.asimilarity_search(text, k=count))
        wanted = {"k": count} if accepts_k(self._source) else {}
        return list(await self._source.ainvoke(text, **wanted))


def accepts_k(retriever: BaseRetriever) -> bool:
    """Return true if a retriever accepts the number of documents to return."""
    parameters = inspect.signature(type(retriever)._aget_relevant_documents).parameters.values()
    return any(one.name == "k" or one.kind is one.VAR_KEYWORD for one in parameters)


class BankRetriever(BaseRetriever):
    """A bank as a LangChain retriever. The metadata of a document has the ids of its sources.

    ``metadata`` holds ``kind``, ``session``, ``speaker``, ``sources`` (ids of messages, the main one first),
    ``mentioned`` (ISO 8601, or ``None``), ``occurred`` (start, end and precision, or ``None``), ``score`` and
    ``tokens``. A bank of :class:`recollect.sync.Memory` works with ``invoke`` and ``ainvoke``. An asynchronous bank
    works with ``ainvoke``, and with ``invoke`` from other threads than its own.

    Args:
        bank: the bank.
        narrowed: the options of ``bank.recall``. The ``k`` of a call replaces ``limit``.
    """

    _portal: Any
    _options: Any

    def __init__(self, bank: AnyBank, **narrowed: Any) -> None:
        super().__init__()
        unknown = narrowed.keys() - RecallOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"recall takes no {', '.join(sorted(unknown))}")
        self._portal, self._options = BankPortal(bank), narrowed

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return list(self._portal.call_blocking(self._recall_documents, query, k))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return list(await self._portal.call_async(self._recall_documents, query, k))

    async def _recall_documents(self, query: str, k: int | None) -> list[Document]:
        narrowed = self._options if k is None else {**self._options, "limit": k}
        recall = await self._portal.bank.recall(query, **narrowed)
        return [make_document(one) for one in recall.evidence]


def make_document(evidence: Evidence) -> Document:
    """Return a piece of evidence as a document. Its metadata can be written as JSON."""
    return Document(
        id=evidence.id,
        page_content=evidence.text,
        metadata={
            "kind": evidence.kind.value,
            "session": evidence.session,
            "speaker": evidence.speaker,
            "sources": list(evidence.sources),
            "mentioned": _dump_moment(evidence.mentioned),
            "occurred": _dump_interval(evidence.occurred),
            "score": evidence.score,
            "tokens": evidence.tokens,
        },
    )


def _dump_interval(interval: Interval | None) -> dict[str, str | None] | None:
    if interval is None:
        return None
    return {
        "start": _dump_moment(interval.start),
        "end": _dump_moment(interval.end),
        "precision": interval.precision.value,
    }


def _dump_moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
