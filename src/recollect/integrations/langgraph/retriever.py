"""Retrieve evidence from a LangGraph store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore, SearchItem

from recollect.integrations.foreign_memory import ForeignPiece, ForeignRetriever
from recollect.integrations.metadata_fields import STANDARD, MetadataFields, read_piece


class LangGraphRetriever(ForeignRetriever):
    """Finds evidence in a ``BaseStore``. See :class:`recollect.ports.Retriever`.

    The id of an item is its key. For an item in a namespace below, it is the rest of the namespace and the key, joined
    by slashes. Stores cannot exclude items by their keys, so more is requested. A store without an index returns items
    in its own order for every query.

    Args:
        store: the store.
        namespace: the namespace to search, with all namespaces below it.
        text: the key in an item's value that holds its text. An item without it is shown as JSON.
        where: the store's own filter, applied to every search.
        fields: the keys in the values. An item without a time in its value counts as said when it was stored.
        deadline_s: the maximum time of a search, in seconds.
    """

    def __init__(
        self,
        store: BaseStore,
        namespace: tuple[str, ...],
        *,
        text: str = "text",
        where: Mapping[str, Any] | None = None,
        fields: MetadataFields = STANDARD,
        deadline_s: float = 30.0,
    ) -> None:
        super().__init__(_LangGraphBackend(store, namespace, text, where, fields), deadline_s=deadline_s)


class _LangGraphBackend:
    name = "langgraph"
    masks = False

    def __init__(
        self,
        store: BaseStore,
        namespace: tuple[str, ...],
        text: str,
        where: Mapping[str, Any] | None,
        fields: MetadataFields,
    ) -> None:
        self._store, self._namespace, self._text, self._fields = store, namespace, text, fields
        self._filter = None if where is None else dict(where)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[ForeignPiece]:
        items = await self._store.asearch(self._namespace, query=text, filter=self._filter, limit=count)
        return [self._read_item(item) for item in items]

    def _read_item(self, item: SearchItem) -> ForeignPiece:
        words = item.value.get(self._text)
        below = item.namespace[len(self._namespace) :]
        return read_piece(
            item.value,
            self._fields,
            text=words if isinstance(words, str) else json.dumps(item.value, ensure_ascii=False, default=str),
            own_id="/".join((*below, item.key)),
            at=item.created_at,
            score=item.score or 0.0,
        )
