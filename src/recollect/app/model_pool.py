"""Provide language models and background workers to the banks of a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
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

_WANTS: Final = (LimitReached.__name__, NoModel.__name__)  # the errors for which jobs are put off


class ModelPool:
    """Provides the language model, metered for each bank, and a background worker for each bank.

    Args:
        model: the language model. It may select a model by role.
        limits: the limits on tokens by the name of the bank. ``default`` is for banks without their own limits.
        clock: returns the present as an aware datetime.
        settings: the settings of background work.
        cache: the folder of kept replies from the settings. Forgetting reaches it, even if no model is configured.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        limits: Mapping[str, Sequence[Limit]] | None = None,
        clock: Callable[[], datetime],
        settings: WorkerSettings | None = None,
        cache: str | None = None,
    ) -> None:
        self._caches = frozenset({Path(cache)} if cache else ())
        self._model, self._clock, self._settings = model, clock, settings or WorkerSettings()
        self._limits = {name_key(bank): own for bank, own in (limits or {}).items()} | dict(limits or {})
        # Weak references: both values reference the store, and must not keep it alive.
        self._metered: WeakValueDictionary[Store, LedgerModel] = WeakValueDictionary()
        self._background: WeakValueDictionary[Store, BackgroundWorker] = WeakValueDictionary()

    @property
    def poll_s(self) -> float | None:
        """Return the seconds between two looks for due jobs, or ``None`` if jobs do not start by themselves."""
        idle = isinstance(self._model, UnconfiguredModel) or not self._settings.automatic
        return None if idle else self._settings.poll_s

    def model_for(self, store: Store) -> LedgerModel:
        """Return the model for a bank, which also writes the bank's ledger. It is the same object while it is in
        use.
        """
        metered = self._metered.get(store)
        if metered is None:
            metered = self._metered[store] = LedgerModel(
                self._model_with_states(store),
                store,
                limits=self._limits_of(store.name),
                clock=self._clock,
                caches=self._caches,
            )
        return metered

    def _limits_of(self, bank: str) -> Sequence[Limit]:
        """Return the limits of a bank: by its exact name, by its name in another spelling, or those of all banks."""
        own = self._limits.get(bank, self._limits.get(name_key(bank)))
        return self._limits.get(DEFAULT, ()) if own is None else own

    def _model_with_states(self, store: Store) -> LanguageModel:
        """Return the model with the bank's own folder for states, if it has states. Forgetting deletes the states in
        this folder.
        """
        folder = states_folder(store)
        return self._model if folder is None else with_state_folder(self._model, folder)

    def runner_for(self, store: Store, consolidators: Sequence[Consolidator]) -> JobRunner | None:
        """Return the runner of a bank's background jobs, or ``None`` if no model is configured."""
        if isinstance(self._model, UnconfiguredModel):
            return None
        background = self._background.get(store)
        if background is None:
            worker = Worker(store, consolidators, clock=self._clock, settings=self._settings)
            background = self._background[store] = BackgroundWorker(worker)
        return _PoolJobRunner(background, self.model_for(store), store, self._clock)

    async def close(self) -> None:
        """Stop all background work. Unfinished jobs continue the next time."""
        await asyncio.gather(*(background.close() for background in list(self._background.values())))


class _PoolJobRunner:
    """Runs the background jobs of a bank, and knows why they wait."""

    def __init__(
        self, background: BackgroundWorker, model: LedgerModel, store: Store, clock: Callable[[], datetime]
    ) -> None:
        self._background, self._model, self._store, self._clock = background, model, store, clock

    def wake(self) -> None:
        self._background.wake()

    async def drain(self) -> tuple[str, ...]:
        return await self._background.drain()

    async def blocked_reasons(self) -> tuple[str, ...]:
        """Return the reasons why jobs wait: limits that are used up, or else the errors in the queue.

        The queue is asked too, because a limit may have tokens left but too few for the next call.
        """
        reached = [await self._model.find_reached_limit(role) for role in WORKING_ROLES]
        told = [str(error) for error in reached if error is not None]
        told = told or [_strip_kind(error) for error in await self._store.blocked_reasons(_WANTS, self._clock())]
        return tuple(dict.fromkeys(f"jobs wait: {words}" for words in told))

    async def close(self) -> None:
        await self._background.close()


def _strip_kind(error: str) -> str:
    """Return the error of a job without its kind."""
    return error.partition(": ")[2]
