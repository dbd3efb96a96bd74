"""The protocols of the language models and workers that the composition root gives to the facade."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from recollect.domain.receipts import ForgottenReplies
from recollect.errors import NoModel
from recollect.models.language import LanguageModel, ModelRole
from recollect.ports import Consolidator, Retriever
from recollect.store.protocol import Store, StoreReader

if TYPE_CHECKING:
    from recollect.text.quotes import Quotes

Clock = Callable[[], datetime]
"""Returns the present as an aware datetime."""


class JobRunner(Protocol):
    """Runs the background jobs of one bank."""

    def wake(self) -> None:
        """Look for jobs soon. This method returns at once."""
        ...

    async def drain(self) -> tuple[str, ...]:
        """Do all jobs, including those that are not due yet. Return one line for each job that failed."""
        ...

    async def blocked_reasons(self) -> tuple[str, ...]:
        """Return the reasons why jobs wait, in words, such as a limit on tokens that is used up."""
        ...

    async def close(self) -> None: ...


class BankModel(LanguageModel, Protocol):
    """The language model of a bank. It can report before a call that no model is configured."""

    def missing(self, role: ModelRole, operation: str) -> NoModel | None:
        """Return the error that a call in this role would raise without a model, or ``None`` if a model is
        configured.
        """
        ...

    async def forget_replies(self, quotes: Quotes) -> ForgottenReplies:
        """Remove the kept replies that contain telling spans of forgotten texts, whichever bank asked for them."""
        ...


class Services(Protocol):
    """The language models of a memory, and the workers that use them."""

    @property
    def poll_s(self) -> float | None:
        """Return the seconds between two looks for due jobs, or ``None`` if jobs do not start by themselves."""
        ...

    def model_for(self, store: Store) -> BankModel:
        """Return the model for a bank. It also writes the bank's ledger."""
        ...

    def runner_for(self, store: Store, consolidators: Sequence[Consolidator]) -> JobRunner | None:
        """Return the runner of a bank's background jobs, or ``None`` if no model is configured."""
        ...

    async def close(self) -> None:
        """Stop all background work. Unfinished jobs continue the next time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BankParts:
    """The parts of a bank that search, read and call a model.

    ``retriever`` is the retriever of the recipe. Call it with ``reader``. ``model`` keeps to the bank's limits. No part
    changes the bank, except that ``model`` writes the bank's ledger.
    """

    retriever: Retriever
    reader: StoreReader
    model: LanguageModel
