"""Who thinks for a bank and who works for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from weakref import WeakKeyDictionary

from recollect.domain.limits import Limit
from recollect.memory.staff import Work
from recollect.models.language import LanguageModel, Role
from recollect.models.languages.metered import Metered
from recollect.models.languages.unconfigured import NoLanguageModel
from recollect.ports import Consolidator
from recollect.store.protocol import Store
from recollect.worker import Background, Worker, WorkerSettings

WORKING_ROLES: Final = (Role.EXTRACT, Role.CONSOLIDATE)


class Crew:
    """A language model for all banks, metered for each, and a worker for each in the background.

    Args:
        model: thinks; one that picks by role, where roles have their own.
        limits: on the tokens of each bank.
        clock: gives the aware present.
        settings: how background work goes.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        limits: Sequence[Limit] = (),
        clock: Callable[[], datetime],
        settings: WorkerSettings | None = None,
    ) -> None:
        self._model, self._limits, self._clock, self._settings = model, tuple(limits), clock, settings
        self._metered: WeakKeyDictionary[Store, Metered] = WeakKeyDictionary()

    def model(self, store: Store) -> Metered:
        """The model that works for a bank and keeps its ledger; the same one each time, so that it sees every call."""
        if store not in self._metered:
            self._metered[store] = Metered(self._model, store, limits=self._limits, clock=self._clock)
        return self._metered[store]

    def work(self, store: Store, consolidators: Sequence[Consolidator]) -> Work | None:
        """Background work on a bank; ``None`` where no model is configured."""
        if isinstance(self._model, NoLanguageModel):
            return None
        worker = Worker(store, consolidators, clock=self._clock, settings=self._settings)
        return _CrewWork(Background(worker), self.model(store))


class _CrewWork:
    """A worker in the background, and what its model has left."""

    def __init__(self, background: Background, model: Metered) -> None:
        self._background, self._model = background, model

    def wake(self) -> None:
        self._background.wake()

    async def drain(self) -> tuple[str, ...]:
        return await self._background.drain()

    async def held_up(self) -> tuple[str, ...]:
        reached = [await self._model.reached(role) for role in WORKING_ROLES]
        return tuple(dict.fromkeys(f"jobs wait: {error}" for error in reached if error is not None))

    async def close(self) -> None:
        await self._background.close()
