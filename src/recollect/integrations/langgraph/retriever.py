"""Over a LangGraph store: what MemR3 finds there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore, SearchItem

from recollect.integrations.fields import STANDARD, Fields, found_in
from recollect.integrations.foreign import ForeignRetriever, Found


class LangGraphRetriever(ForeignRetriever):
    """Finds evidence in a ``BaseStore``. See :class:`recollect.ports.Retriever`.

    An item is known by its key; one of a namespace below by what follows the namespace, and the key, joined by slashes.
    Stores cannot leave out items by their keys: more is asked for. A store without an index brings items in its own
    order, whatever is asked.

    Args:
        store: the store.
        namespace: where in it to search, with all that is below.
        text: the key of an item's value that holds its words; an item without it is shown whole, as JSON.
        where: the store's own filter, to narrow every search to.
        fields: where the values hold what; an item counts as said when it was stored, where its value does not say.
        deadline_s: how long it may take, in seconds.
    """

    def __init__(
        self,
        store: BaseStore,
        namespace: tuple[str, ...],
        *,
        text: str = "text",
        where: Mapping[str, Any] | None = None,
        fields: Fields = STANDARD,
        deadline_s: float = 30.0,
    ) -> None:
        super().__init__(_LangGraph(store, namespace, text, where, fields), deadline_s=deadline_s)


class _LangGraph:
    name = "langgraph"
    masks = False

    def __init__(
        self,
        store: BaseStore,
        namespace: tuple[str, ...],
        text: str,
        where: Mapping[str, Any] | None,
        fields: Fields,
    ) -> None:
        self._store, self._namespace, self._text, self._fields = store, namespace, text, fields
        self._filter = None if where is None else dict(where)

    async def search(self, text: str, count: int, exclude: frozenset[str]) -> list[Found]:
        items = await self._store.asearch(self._namespace, query=text, filter=self._filter, limit=count)
        return [self._found(item) for item in items]

    def _found(self, item: SearchItem) -> Found:
        words = item.value.get(self._text)
        below = item.namespace[len(self._namespace) :]
        return found_in(
            item.value,
            self._fields,
            text=words if isinstance(words, str) else json.dumps(item.value, ensure_ascii=False, default=str),
            own_id="/".join((*below, item.key)),
            at=item.created_at,
            score=item.score or 0.0,
        )
