"""A question to evidence."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.queries import Query
from recollect.domain.recalls import Recall
from recollect.store.protocol import StoreReader


class Retriever(Protocol):
    """Finds evidence for a query."""

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Find evidence, best first, with a receipt.

        Raises:
            RecallFailed: nothing worked, so that an empty answer would be a lie.
        """
        ...
