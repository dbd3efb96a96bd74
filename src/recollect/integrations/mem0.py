"""Retrieve evidence from Mem0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.integrations.foreign_memory import ForeignPiece, ForeignRetriever, call_maybe_async
from recollect.integrations.metadata_fields import STANDARD, MetadataFields, read_piece


class Mem0Retriever(ForeignRetriever):
    """Finds evidence in a ``mem0.Memory`` or ``mem0.AsyncMemory``. See :class:`recollect.ports.Retriever`.

    The metadata gives the time of a memory, or else the time when Mem0 stored it. Its speaker is its ``actor_id`` if
    the metadata names nobody, and its session is its ``run_id``. With ``fields.id``, Mem0's own filters exclude the
    memories that were seen before, if its vector store supports these filters. Without it, more is requested.

    Args:
        memory: the memory. Its own settings say which data it sends where.
        filters: the part of Mem0 to search. Mem0 requires one of ``user_id``, ``agent_id`` and ``run_id``.
        fields: the keys in the metadata of the memories.
        threshold: the minimum score, 0 to 1. Mem0's own default of 0.1 would hide memories.
        deadline_s: the maximum time of a search, in seconds.
    """

    def __init__(
        self,
        memory: Any,
        *,
        filters: Mapping[str, Any],
        fields: MetadataFields = STANDARD,
        threshold: float = 0.0,
        deadline_s: float = 30.0,
    ) -> None:
        super().__init__(_Mem0Backend(memory, filters, fields, threshold), deadline_s=deadline_s)


class _Mem0Backend:
    name = "mem0"

    def __init__(self, memory: Any, filters: Mapping[str, Any], fields: MetadataFields, threshold: float) -> None:
        self._memory, self._filters, self._fields, self._threshold = memory, dict(filters), fields, threshold

    @property
    def masks(self) -> bool:
        return bool(self._fields.id)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[ForeignPiece]:
        given = await call_maybe_async(
            self._memory.search,
            text,
            top_k=count,
            filters=self._build_filters(exclude),
            threshold=self._threshold,
        )
        return [_read_memory(one, self._fields) for one in given["results"]]

    def _build_filters(self, exclude: frozenset[str]) -> dict[str, Any]:
        if not (self.masks and exclude):
            return self._filters
        hidden = {self._fields.id: {"in": sorted(exclude)}}
        return {**self._filters, "NOT": [*self._filters.get("NOT", ()), hidden]}


def _read_memory(memory: Mapping[str, Any], fields: MetadataFields) -> ForeignPiece:
    metadata = {
        fields.speaker: memory.get("actor_id"),
        fields.session: memory.get("run_id"),
        **(memory.get("metadata") or {}),
    }
    return read_piece(
        metadata,
        fields,
        text=str(memory["memory"]),
        own_id=str(memory["id"]),
        at=memory.get("created_at"),
        score=float(memory.get("score") or 0.0),
    )
