"""Retrieve evidence from Mem0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.integrations.fields import STANDARD, Fields, found_in
from recollect.integrations.foreign import ForeignRetriever, Found, called


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
        fields: Fields = STANDARD,
        threshold: float = 0.0,
        deadline_s: float = 30.0,
    ) -> None:
        super().__init__(_Mem0(memory, filters, fields, threshold), deadline_s=deadline_s)


class _Mem0:
    name = "mem0"

    def __init__(self, memory: Any, filters: Mapping[str, Any], fields: Fields, threshold: float) -> None:
        self._memory, self._filters, self._fields, self._threshold = memory, dict(filters), fields, threshold

    @property
    def masks(self) -> bool:
        return bool(self._fields.id)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[Found]:
        given = await called(
            self._memory.search,
            text,
            top_k=count,
            filters=self._narrowed(exclude),
            threshold=self._threshold,
        )
        return [_found(one, self._fields) for one in given["results"]]

    def _narrowed(self, exclude: frozenset[str]) -> dict[str, Any]:
        if not (self.masks and exclude):
            return self._filters
        hidden = {self._fields.id: {"in": sorted(exclude)}}
        return {**self._filters, "NOT": [*self._filters.get("NOT", ()), hidden]}


def _found(memory: Mapping[str, Any], fields: Fields) -> Found:
    metadata = {
        fields.speaker: memory.get("actor_id"),
        fields.session: memory.get("run_id"),
        **(memory.get("metadata") or {}),
    }
    return found_in(
        metadata,
        fields,
        text=str(memory["memory"]),
        own_id=str(memory["id"]),
        at=memory.get("created_at"),
        score=float(memory.get("score") or 0.0),
    )
