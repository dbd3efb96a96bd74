"""The port for background work on stored items."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job
from recollect.store.commit_retry import Derive
from recollect.store.protocol import StoreReader


class Consolidator(Protocol):
    """Does one kind of job: derives new items from stored ones."""

    @property
    def kind(self) -> str:
        """Return the kind of its jobs, such as "hindsight.observe"."""
        ...

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return the jobs that these changes cause. They are committed together with the changes."""
        ...

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Do the work that needs a model, and return a function that derives the changes from its result.

        ``reader`` is for the content of prompts, because the bank may change while the model works. The function gets a
        new reader, and reads from it everything that its changes depend on. If the bank changes before the commit, the
        function is called again. The function calls no model.

        Raises:
            ModelError: a model failed. The job is tried again later, or is put aside with the error.
        """
        ...


def add_jobs(changes: Changeset, consolidators: Iterable[Consolidator], now: datetime) -> Changeset:
    """Return the changes together with the jobs that they cause, to be committed in one transaction."""
    caused = tuple(job for one in consolidators for job in one.plan_jobs(changes, now))
    return replace(changes, jobs=(*changes.jobs, *caused)) if caused else changes
