"""The parts of a bank that all of its methods share."""

from __future__ import annotations

from collections.abc import Callable

from recollect.domain.changes import Changeset
from recollect.domain.processes import HomeProcess
from recollect.errors import DeadlineExceeded
from recollect.memory.deadline import Deadline
from recollect.memory.services import BankModel, Clock, JobRunner
from recollect.models.embedder import Embedder
from recollect.ports import Consolidator
from recollect.recipes.assembly import AssembledRecipe
from recollect.retain.facts import FactEncoder
from recollect.store.commit_retry import Derive, commit_derived
from recollect.store.protocol import Store


class BankBase:
    """The parts of a bank, and the one way in which all of its methods write.

    Args:
        store: the store of this bank.
        method: returns the bank's recipe for ``None``, or another recipe by its name, with its parts made for this
            bank.
        facts: the encoder that ``add_facts`` uses.
        embedder: the embedder of the bank's vectors. ``rebuild`` changes the vectors to those of this embedder.
        model: the language model of this bank, which also writes the bank's ledger.
        work: runs the background jobs. It is ``None`` if no model is configured.
        clock: returns the present as an aware datetime.
    """

    def __init__(
        self,
        store: Store,
        *,
        method: Callable[[str | None], AssembledRecipe],
        facts: FactEncoder,
        embedder: Embedder,
        model: BankModel,
        work: JobRunner | None,
        clock: Clock,
    ) -> None:
        self._home = HomeProcess()
        self._home.require()
        self._store, self._method, self._work = store, method, work
        self._embedder, self._model, self._clock = embedder, model, clock
        self._facts = facts

    @property
    def name(self) -> str:
        return self._store.name

    @property
    def _store(self) -> Store:
        """Return the store. Every call of a bank reads it first, or the work.

        Raises:
            OpenedBeforeFork: the bank belongs to the process from which this one was forked.
        """
        self._home.require()
        return self._own_store

    @_store.setter
    def _store(self, store: Store) -> None:
        self._own_store = store

    @property
    def _work(self) -> JobRunner | None:
        self._home.require()
        return self._own_work

    @_work.setter
    def _work(self, work: JobRunner | None) -> None:
        self._own_work = work

    @property
    def _recipe(self) -> AssembledRecipe:
        return self._method(None)

    @property
    def _consolidators(self) -> tuple[Consolidator, ...]:
        """Return the consolidators for new content.

        There are none if no model is configured and the recipe does not queue jobs for a later model.
        """
        method = self._recipe
        return method.consolidators if method.has_background_work or self._work is not None else ()

    async def _commit(self, derive: Derive, deadline: Deadline) -> Changeset:
        """Derive and commit changes, one write at a time. Try again if another process has written first.

        Changes that are being stored when the time is over are stored, and returned a little later.

        Raises:
            DeadlineExceeded: the time is over, and nothing was stored.
        """
        stored: list[Changeset] = []

        async def write() -> Changeset:
            return await commit_derived(self._store, derive, on_commit=stored.append)

        try:
            return await deadline.wait_for(write(), outcome="nothing was stored")
        except DeadlineExceeded:
            if stored:
                return stored[0]
            raise
