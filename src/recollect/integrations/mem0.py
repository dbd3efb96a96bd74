"""Over Mem0: what MemR3 finds there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.integrations.fields import STANDARD, Fields, found_in
from recollect.integrations.foreign import ForeignRetriever, Found, called


class Mem0Retriever(ForeignRetriever):
    """Finds evidence in a ``mem0.Memory`` or ``mem0.AsyncMemory``. See :class:`recollect.ports.Retriever`.

    Memories count as said when their metadata says, else when Mem0 stored them; as said by their ``actor_id`` where
    the metadata names nobody, and in the session of their ``run_id``. With ``fields.id``, what was seen is left out by
    Mem0's own filters, as far as its vector store knows them; without, more is asked for.

    Args:
        memory: the memory; its own settings say what it sends where.
        filters: what Mem0 is to search in; it wants one of ``user_id``, ``agent_id`` and ``run_id``.
        fields: where the memories' metadata hold what.
        threshold: the least score, 0 to 1; Mem0's own default of 0.1 would hide what is there.
        deadline_s: how long it may take, in seconds.
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
