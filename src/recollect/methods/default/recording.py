"""Record the cost and the recalls of a question, even if the route that made them fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from recollect.domain.queries import Query
from recollect.domain.recalls import Recall
from recollect.domain.usage import Usage
from recollect.errors import ModelError
from recollect.models.language import LanguageModel, Prompt, Reply, ReplyCheck
from recollect.ports import Retriever
from recollect.store.protocol import StoreReader

T = TypeVar("T")

RecordRecall = Callable[[Recall], None]
"""The function that receives each recall."""


class MeteredModel:
    """The language model that records its use: ``usage``, including failed calls, and the names of ``models``."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.usage = Usage()
        self.models: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """See :class:`recollect.models.language.LanguageModel`."""
        try:
            reply = await self._model.generate(prompt, answer_type, check=check)
        except ModelError as exc:
            self.usage += exc.usage if isinstance(exc.usage, Usage) else Usage()
            raise
        self.usage += reply.usage
        self.models = tuple(dict.fromkeys((*self.models, reply.model)))
        return reply

    def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """See :class:`recollect.models.language.LanguageModel`."""
        return self._model.stream(prompt)


class RecordingRetriever:
    """The retriever that reports each recall. See :class:`recollect.ports.Retriever`."""

    def __init__(self, retriever: Retriever, keep: RecordRecall) -> None:
        self._retriever, self._keep = retriever, keep

    async def retrieve(self, query: Query, reader: StoreReader) -> Recall:
        """See :class:`recollect.ports.Retriever`."""
        recall = await self._retriever.retrieve(query, reader)
        self._keep(recall)
        return recall
