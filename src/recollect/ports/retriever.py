"""The port from a question to evidence."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.queries import Query
from recollect.domain.recalls import Recall
from recollect.store.protocol import StoreReader


class Retriever(Protocol):
    """Finds evidence for a query."""

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """Find evidence, the best first, with a receipt.

        Raises:
            RecallFailed: every arm failed, so that an empty result would be wrong.
        """
        ...
