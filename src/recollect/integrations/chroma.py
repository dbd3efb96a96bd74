"""Retrieve evidence from a Chroma collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.domain.items import ItemKind
from recollect.integrations.foreign_memory import ForeignPiece, ForeignRetriever, call_maybe_async
from recollect.integrations.metadata_fields import STANDARD, MetadataFields, read_piece


class ChromaRetriever(ForeignRetriever):
    """Finds evidence in a Chroma collection, synchronous or not. See :class:`recollect.ports.Retriever`.

    With ``fields.id``, Chroma's own filters exclude the evidence that was seen before. Without it, more is requested.
    Scores are distances with the opposite sign, so that a higher score is better.

    Args:
        collection: a ``Collection`` or an ``AsyncCollection``. Its embedding function embeds the queries.
        where: Chroma's own filter, applied to every search.
        fields: the keys in the metadata of the documents.
        deadline_s: the maximum time of a search, in seconds.
    """

    def __init__(
        self,
        collection: Any,
        *,
        where: Mapping[str, Any] | None = None,
        fields: MetadataFields = STANDARD,
        deadline_s: float = 30.0,
    ) -> None:
        super().__init__(_ChromaBackend(collection, where, fields), deadline_s=deadline_s)


class _ChromaBackend:
    name = "chroma"

    def __init__(self, collection: Any, where: Mapping[str, Any] | None, fields: MetadataFields) -> None:
        self._collection, self._where, self._fields = collection, where, fields

    @property
    def masks(self) -> bool:
        return bool(self._fields.id)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[ForeignPiece]:
        given = await call_maybe_async(
            self._collection.query,
            query_texts=[text],
            n_results=count,
            where=self._where_filter(exclude),
            include=["documents", "metadatas", "distances"],
        )
        rows = zip(given["ids"][0], given["documents"][0], given["metadatas"][0], given["distances"][0], strict=True)
        return [
            read_piece(
                metadata or {},
                self._fields,
                text=document or "",
                own_id=id_,
                score=-float(distance),
                kind=ItemKind.SEGMENT,
            )
            for id_, document, metadata, distance in rows
        ]

    def _where_filter(self, exclude: frozenset[str]) -> dict[str, Any] | None:
        where = dict(self._where) if self._where else None
        if not (self.masks and exclude):
            return where
        hidden = {self._fields.id: {"$nin": sorted(exclude)}}
        return {"$and": [where, hidden]} if where else hidden
