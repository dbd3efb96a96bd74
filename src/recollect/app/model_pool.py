"""Who thinks for a bank and who works for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final
from weakref import WeakValueDictionary

from recollect.app.settings import DEFAULT
from recollect.domain.limits import Limit
from recollect.errors import LimitReached, NoModel
from recollect.memory.services import JobRunner
from recollect.models.language import LanguageModel, ModelRole
from recollect.models.languages.metered import LedgerModel
from recollect.models.languages.states import with_state_folder
from recollect.models.languages.unconfigured import UnconfiguredModel
from recollect.ports import Consolidator
from recollect.store.capabilities import states_folder
from recollect.store.names import name_key
from recollect.store.protocol import Store
from recollect.worker import BackgroundWorker, Worker, WorkerSettings

WORKING_ROLES: Final = (ModelRole.EXTRACT, ModelRole.CONSOLIDATE)

_WANTS: Final = (LimitReached.__name__, NoModel.__name__)  # for want of what jobs are put off


class ModelPool:
    """A language model for all banks, metered for each, and a worker for each in the background.

    Args:
        model: thinks; one that picks by role, where roles have their own.
        limits: on the tokens of a bank, by its name; under ``default`` those of the banks that have none of their own.
        clock: gives the aware present.
        settings: how background work goes.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        limits: Mapping[str, Sequence[Limit]] | None = None,
        clock: Callable[[], datetime],
        settings: WorkerSettings | None = None,
    ) -> None:
        self._model, self._clock, self._settings = model, clock, settings or WorkerSettings()
        self._limits = {name_key(bank): own for bank, own in (limits or {}).items()} | dict(limits or {})
        # As long as somebody holds them, and no longer: both hold the store.
        self._metered: WeakValueDictionary[Store, LedgerModel] = WeakValueDictionary()
        self._background: WeakValueDictionary[Store, BackgroundWorker] = WeakValueDictionary()

    @property
    def poll_s(self) -> float | None:
        """How many seconds pass between two looks for jobs that are due; ``None`` where none is begun by itself."""
        idle = isinstance(self._model, UnconfiguredModel) or not self._settings.automatic
        return None if idle else self._settings.poll_s

    def model_for(self, store: Store) -> LedgerModel:
        """The model that works for a bank and keeps its ledger; the same one as long as somebody holds it."""
        metered = self._metered.get(store)
        if metered is None:
            metered = self._metered[store] = LedgerModel(
                self._model_with_states(store), store, limits=self._limits_of(store.name), clock=self._clock
            )
        return metered

    def _limits_of(self, bank: str) -> Sequence[Limit]:
        """Return a bank's limits: by its name as it is, by its name in any spelling, or those of all banks."""
        own = self._limits.get(bank, self._limits.get(name_key(bank)))
        return self._limits.get(DEFAULT, ()) if own is None else own

    def _model_with_states(self, store: Store) -> LanguageModel:
        """The model with the bank's own folder for states, if it keeps any: forgetting erases what is in there."""
        folder = states_folder(store)
        return self._model if folder is None else with_state_folder(self._model, folder)

    def runner_for(self, store: Store, consolidators: Sequence[Consolidator]) -> JobRunner | None:
        """Background work on a bank; ``None`` where no model is configured."""
        if isinstance(self._model, UnconfiguredModel):
            return None
        background = self._background.get(store)
        if background is None:
            worker = Worker(store, consolidators, clock=self._clock, settings=self._settings)
            background = self._background[store] = BackgroundWorker(worker)
        return _PoolJobRunner(background, self.model_for(store), store, self._clock)

    async def close(self) -> None:
        """Stop all background work; what is unfinished waits for the next time."""
        await asyncio.gather(*(background.close() for background in list(self._background.values())))


class _PoolJobRunner:
    """A worker in the background, what its model has left, and what its queue waits for."""

    def __init__(
        self, background: BackgroundWorker, model: LedgerModel, store: Store, clock: Callable[[], datetime]
    ) -> None:
        self._background, self._model, self._store, self._clock = background, model, store, clock

    def wake(self) -> None:
        self._background.wake()

    async def drain(self) -> tuple[str, ...]:
        return await self._background.drain()

    async def blocked_reasons(self) -> tuple[str, ...]:
        """What keeps jobs waiting: a limit that is used up; else what the queue says, since a limit with something
        left may be too little for the next call.
        """
        reached = [await self._model.find_reached_limit(role) for role in WORKING_ROLES]
        told = [str(error) for error in reached if error is not None]
        told = told or [_strip_kind(error) for error in await self._store.blocked_reasons(_WANTS, self._clock())]
        return tuple(dict.fromkeys(f"jobs wait: {words}" for words in told))

    async def close(self) -> None:
        await self._background.close()


def _strip_kind(error: str) -> str:
    """A job's error without its kind."""
    return error.partition(": ")[2]
