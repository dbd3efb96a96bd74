"""Work on what is stored already, in the background."""

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
    """Does one kind of job: turns what is stored into more of it."""

    @property
    def kind(self) -> str:
        """The kind of job that it does ("hindsight.observe")."""
        ...

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """The jobs that these changes make necessary; they are committed together with them."""
        ...

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Do what needs a model, and return a function that derives the changes from it and from the bank as it is.

        ``reader`` is for what the model is shown; the bank may change while the model works. The function is handed the
        bank anew, and reads all that its changes rest on from there: where the bank changes before the commit, the
        function is called again. It calls no model.

        Raises:
            ModelError: a model failed; the job is tried again later, or put aside with the error.
        """
        ...


def add_jobs(changes: Changeset, consolidators: Iterable[Consolidator], now: datetime) -> Changeset:
    """The changes with the jobs that they make necessary, to be committed together with them."""
    caused = tuple(job for one in consolidators for job in one.plan_jobs(changes, now))
    return replace(changes, jobs=(*changes.jobs, *caused)) if caused else changes
