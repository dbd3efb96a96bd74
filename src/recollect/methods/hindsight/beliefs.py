"""Offer opinions, and a background that grows, next to the four parts of Hindsight (sections 5.5 and 5.6)."""

from __future__ import annotations

from recollect.domain.opinions import Opinion
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.background import merge_background
from recollect.methods.hindsight.opinions import load_opinions
from recollect.store.protocol import StoreReader


class OpinionBeliefs:
    """Opinions as chains of items, and the agent's background. See :class:`recollect.ports.Beliefs`."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._model = dependencies.model

    async def opinions(self, reader: StoreReader, *, entity: str | None) -> list[Opinion]:
        """See :func:`recollect.methods.hindsight.opinions.load_opinions`."""
        return await load_opinions(reader, entity=entity)

    async def merge_background(self, background: str, snippet: str) -> str:
        """See :func:`recollect.methods.hindsight.background.merge_background`."""
        return await merge_background(background, snippet, self._model)
