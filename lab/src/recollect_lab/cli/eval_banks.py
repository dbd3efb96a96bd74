"""Adapt our banks to the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

from recollect.app import Memory, Settings, configure_recipe
from recollect.domain.messages import Message
from recollect.domain.queries import Effort
from recollect.domain.recalls import Recall
from recollect.domain.receipts import RetainReceipt
from recollect.domain.signals import Weights
from recollect.memory.bank import Bank
from recollect.models.embedder import Embedder
from recollect.models.reranker import Reranker


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """The settings of recollect that are needed to reproduce a figure."""

    recipe: str
    embedder: str
    dimension: int
    reranker: str | None
    arms: tuple[str, ...]
    fusion: str
    effort: str
    weights: Weights


def make_report_settings(
    settings: Settings, effort: Effort, embedder: Embedder, reranker: Reranker | None
) -> ReportSettings:
    """Return the settings in the form in which the report publishes them."""
    recipe = configure_recipe(settings)
    return ReportSettings(
        recipe=recipe.name,
        embedder=embedder.name,
        dimension=embedder.dimension,
        reranker=None if reranker is None else reranker.name,
        arms=tuple(arm.value for arm in recipe.recall.arms),
        fusion=recipe.recall.fusion.value,
        effort=effort.value,
        weights=recipe.recall.weights,
    )


class EvalBanks:
    """Opens a bank for each conversation. Banks are named by numbers, because a conversation's name may not be a file
    name.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        effort: Effort,
        embedder: Embedder,
        reranker: Reranker | None,
        *,
        keep: bool,
    ) -> None:
        self._folder, self._recipe, self._effort = folder, configure_recipe(settings), effort
        self._embedder, self._reranker, self._keep = embedder, reranker, keep
        self._numbers = count(1)

    async def open(self, conversation: str) -> EvalBankAdapter:
        """Return an empty bank in a separate memory. Closing the bank frees this memory."""
        memory = Memory.open(
            self._folder, embedder=self._embedder, reranker=self._reranker, recipe=self._recipe, model="none"
        )
        name = f"{next(self._numbers):04}"
        return EvalBankAdapter(memory, await memory.bank(name), self._folder, self._effort, keep=self._keep)


class EvalBankAdapter:
    """A bank that is searched with the effort of this evaluation."""

    def __init__(self, memory: Memory, bank: Bank, folder: Path, effort: Effort, *, keep: bool) -> None:
        self._memory, self._bank, self._folder, self._effort, self._keep = memory, bank, folder, effort, keep

    async def retain(self, messages: Sequence[Message], *, session: str) -> RetainReceipt:
        return await self._bank.retain(messages, session=session)

    async def recall(self, query: str, *, limit: int, max_tokens: int | None, now: datetime | None) -> Recall:
        return await self._bank.recall(query, limit=limit, max_tokens=max_tokens, now=now, effort=self._effort)

    async def close(self) -> None:
        if not self._keep:  # hundreds of banks would fill the disk
            await self._memory.drop(self._bank.name)
        await self._memory.close()

    def size_bytes(self) -> int:
        """Return the size of all files of the bank, as ``BankInfo.size_bytes`` counts them."""
        return sum(file.stat().st_size for file in self._folder.glob(f"{self._bank.name}.*"))
