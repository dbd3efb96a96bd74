"""Who thinks for a bank and who works for it: what the composition root brings to the facade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recollect.errors import NoModel
from recollect.models.language import LanguageModel, ModelRole
from recollect.ports import Consolidator, Retriever
from recollect.store.protocol import Store, StoreReader


class JobRunner(Protocol):
    """Background work on one bank."""

    def wake(self) -> None:
        """Say that there may be something to do; returns at once."""
        ...

    async def drain(self) -> tuple[str, ...]:
        """Do everything there is, not yet due jobs included; gives what went wrong, a line a job."""
        ...

    async def blocked_reasons(self) -> tuple[str, ...]:
        """What keeps jobs waiting, in words: a limit on tokens that is used up."""
        ...

    async def close(self) -> None: ...


class BankModel(LanguageModel, Protocol):
    """A bank's language model, which can say beforehand that there is none."""

    def missing(self, role: ModelRole, operation: str) -> NoModel | None:
        """Return the error for want of a model that a call in this role would raise; ``None`` where there is one."""
        ...


class Services(Protocol):
    """The language models of a memory, and the workers that use them."""

    @property
    def poll_s(self) -> float | None:
        """How many seconds pass between two looks for jobs that are due; ``None`` where none is begun by itself."""
        ...

    def model_for(self, store: Store) -> BankModel:
        """The model that works for a bank and keeps its ledger."""
        ...

    def runner_for(self, store: Store, consolidators: Sequence[Consolidator]) -> JobRunner | None:
        """Background work on a bank; ``None`` where no model is configured."""
        ...

    async def close(self) -> None:
        """Stop all background work; what is unfinished waits for the next time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BankParts:
    """What finds, reads and thinks for a bank. Nothing of it changes the bank, except that ``model`` keeps its ledger.

    ``retriever`` is the recipe's own, and is given ``reader``. ``model`` keeps to the bank's limits.
    """

    retriever: Retriever
    reader: StoreReader
    model: LanguageModel
