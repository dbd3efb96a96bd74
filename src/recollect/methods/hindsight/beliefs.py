"""What Hindsight offers beside its four parts: opinions, and a background that grows (sections 5.5 and 5.6)."""

from __future__ import annotations

from recollect.domain.opinions import Opinion
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.background import merged_background
from recollect.methods.hindsight.opinions import opinions_of
from recollect.store.protocol import StoreReader


class OpinionBeliefs:
    """Opinions as chains of items, and the agent's background. See :class:`recollect.ports.Beliefs`."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._model = dependencies.model

    async def opinions(self, reader: StoreReader, *, entity: str | None) -> list[Opinion]:
        """See :func:`recollect.methods.hindsight.opinions.opinions_of`."""
        return await opinions_of(reader, entity=entity)

    async def merge_background(self, background: str, snippet: str) -> str:
        """See :func:`recollect.methods.hindsight.background.merged_background`."""
        return await merged_background(background, snippet, self._model)
