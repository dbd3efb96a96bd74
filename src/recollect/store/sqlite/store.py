"""One bank in one SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread, start_in_thread
from recollect.domain.changes import Changeset
from recollect.domain.entities import Entity, Mention, Merge
from recollect.domain.items import Item
from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.receipts import BackupReceipt, ForgetReceipt, Verification
from recollect.domain.time import to_micros
from recollect.domain.usage import Cost, LedgerEntry, Usage
from recollect.errors import MissingCapability, StaleWrite, StoreUnavailable
from recollect.store.commit_retry import CommittedThenCancelled
from recollect.store.forget_plan import ForgetPlan
from recollect.store.index.bank_index import GRAPH_FROM_ROWS
from recollect.store.protocol import Fill, ForgetSelection
from recollect.store.sqlite.backup import back_up
from recollect.store.sqlite.copy_bank import copy_bank, copy_bank_in_memory, require_empty
from recollect.store.sqlite.database import Database, read_embedder, record_embedder
from recollect.store.sqlite.dump import dump
from recollect.store.sqlite.erase import find_graph
from recollect.store.sqlite.files import check_integrity
from recollect.store.sqlite.forget import RemovedRows, plan_forget, preview_forget, remove_marked
from recollect.store.sqlite.jobs import (
    AttemptFailure,
    blocked_reasons,
    claim_job,
    drop_job,
    fail_job,
    finish_job,
    list_jobs,
    renew_lease,
    retry_job,
)
from recollect.store.sqlite.ledger import add_entries, list_costs, sum_spent
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.peek import JobTimes, read_job_times
from recollect.store.sqlite.quote_rows import ForgottenTexts
from recollect.store.sqlite.reader import SqliteReader
from recollect.store.sqlite.rows import make_entity_row, read_merge
from recollect.store.sqlite.scrub import ScrubResult, check_files, has_unscrubbed_files, scrub_files
from recollect.store.sqlite.staging import StagingFolder, sweep_staging
from recollect.store.sqlite.state_folders import erase_states, find_states_folder
from recollect.store.sqlite.turns import hold_turn
from recollect.store.sqlite.write import (
    check_vectors,
    find_numbers,
    pack_vector,
    require_vectors,
    require_version,
    write_changes,
)
from recollect.text.quotes import Quotes

P = ParamSpec("P")
T = TypeVar("T")

LAST_VERSION = 2**63 - 1
BYTES_OF_VALUE = 8  # of a number in the index: in a vector, and in the mean of its surroundings
BYTES_OF_ROW = 1_000  # in the index: words, times, names


class SqliteStore(SqliteReader):
    """Implements :class:`recollect.store.protocol.Store`. Safe for threads, tasks and other processes."""

    @property
    def states(self) -> Path:
        """Return the folder for what language models derive from the bank's words.

        Raises:
            MissingCapability: the bank is in memory and has no such folder.
        """
        if self._database.path is None:
            raise MissingCapability("a bank in memory has no folder for states")
        return find_states_folder(self._database.path)

    async def merges(self) -> tuple[Merge, ...]:
        return tuple(read_merge(row) for row in await self._run_query("merges"))

    async def mentions(self, entity: str) -> tuple[Mention, ...]:
        rows = await self._run_query("mentions_of", (entity,))
        return tuple(Mention(entity=entity, item=item, surface=surface) for item, surface in rows)

    def turn(self) -> AbstractAsyncContextManager[None]:
        path = self._database.path
        return self._own_turn if path is None else hold_turn(path)

    async def commit(self, changes: Changeset) -> None:
        await self._write(self._commit, changes)

    async def fill(self, fill: Fill) -> None:
        path = self._database.path
        await self._run_reading(require_empty, self.name)
        embedder = self._embedder, self._dimension
        if path is None:
            staged = await run_in_thread(
                lambda: open_store(Database(None), name=self.name, embedder=embedder, graph_from=GRAPH_FROM_ROWS)
            )
            await fill(staged)
            await run_in_thread(copy_bank_in_memory, staged._database, self._database, self.name)
            return
        async with stage_store(path.parent, name=self.name, embedder=embedder) as (staged, file):
            await fill(staged)
            await staged.close()
            await run_in_thread(check_integrity, file)
            await run_in_thread(copy_bank, file, self._database, self.name)

    def back_up(self, file: Path) -> BackupReceipt:
        """Copy the bank to a new file: see :func:`recollect.store.sqlite.backup.back_up`."""
        return back_up(self._database, self.name, file)

    async def plan_forget(self, selection: ForgetSelection) -> ForgetPlan:
        return await self._run_reading(plan_forget, selection)

    async def preview_forget(self, selection: ForgetSelection) -> ForgetReceipt:
        began = time.perf_counter()
        removed = await self._run_reading(preview_forget, selection)
        return _make_receipt(removed, Verification.NOT_RUN, ScrubResult(), time.perf_counter() - began)

    async def forget(self, selection: ForgetSelection, remade: Changeset | None = None) -> ForgetReceipt:
        return await run_in_thread(self._forget, selection, remade)

    def finish_forgetting(self) -> None:
        """Clean the files of forgotten words, if a process was killed before it could do so.

        If this is not possible now, the next process that opens the bank or forgets something does it.
        """
        with suppress(StoreUnavailable, OSError):
            if has_unscrubbed_files(self._database):
                self._scrub_files(ForgottenTexts(), Quotes())

    async def claim(
        self,
        kinds: Sequence[str],
        worker: str,
        now: datetime,
        lease_s: float,
        *,
        ignore_schedule: bool = False,
        failed_before: datetime | None = None,
    ) -> Job | None:
        return await self._write(
            claim_job, kinds, worker, now, lease_s, ignore_schedule=ignore_schedule, failed_before=failed_before
        )

    async def renew_lease(self, job: Job, now: datetime, lease_s: float) -> None:
        await self._write(renew_lease, job, now, lease_s)

    async def settle(
        self,
        job: Job,
        *,
        error: str | None = None,
        reply: str | None = None,
        retry_at: datetime | None = None,
        counted: bool = True,
        now: datetime,
    ) -> None:
        if error is None:
            await self._write(finish_job, job)
        else:
            failure = AttemptFailure(error=error, reply=reply, at=now, retry_at=retry_at, counted=counted)
            await self._write(fail_job, job, failure)

    async def jobs(self, states: Sequence[JobState] = ()) -> list[JobRecord]:
        return await self._run_reading(list_jobs, states)

    async def blocked_reasons(self, kinds: Sequence[str], now: datetime) -> list[str]:
        return await self._run_reading(blocked_reasons, kinds, now)

    async def retry_job(self, job: str) -> None:
        await self._write(retry_job, job)

    async def drop_job(self, job: str) -> None:
        await self._write(drop_job, job)

    async def record(self, entries: Sequence[LedgerEntry]) -> None:
        await self._write(add_entries, entries)

    async def spent(self, role: str | None = None, since: datetime | None = None) -> Usage:
        return await self._run_reading(sum_spent, role, since)

    async def costs(self) -> list[Cost]:
        return await self._run_reading(list_costs)

    async def accept_losses(self) -> None:
        await self._write(self._database.marks.accept_losses)

    async def split_entity(self, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
        await self._write(_split_entity, merge, entity, moved)

    async def items_after(self, version: int) -> list[Item]:
        return await self._load_listed("numbers_between", {"since": version, "upto": LAST_VERSION})

    def dump(self, *, vectors: bool = True) -> AsyncIterator[Changeset]:
        return _iterate_in_thread(dump(self._database, vectors=vectors))

    async def replace_vectors(
        self,
        embedder: str,
        dimension: int,
        vectors: Sequence[tuple[str, NDArray[np.float32]]],
        *,
        expected_version: int | None = None,
    ) -> None:
        await run_in_thread(self._replace_vectors, embedder, dimension, vectors, expected_version)

    async def release(self) -> None:
        await run_in_thread(self.give_back)

    async def close(self) -> None:
        await run_in_thread(self.close_now)

    def close_now(self) -> None:
        """Save the index and close the files. The calling thread waits until this is done."""
        try:
            self._index.save()
        finally:
            self._database.close()

    def is_gone(self) -> bool:
        """Return true if another process has erased or replaced the bank since it was opened here."""
        return self._database.is_gone()

    def give_back(self) -> bool:
        """Close the files and release the index until the bank is used next. Return true if nothing is open then.

        A bank that is in use stays open. This never waits for another thread.
        """
        if not self._index.save_if_idle() or not self._database.release():
            return False
        self._index = self._make_index()
        return True

    @property
    def extent(self) -> tuple[int, int]:
        """Return the rows of the index and the number of idle connections."""
        return len(self._index.live), self._database.idle

    @property
    def held_bytes(self) -> int:
        """Return the approximate amount of memory that the index and the caches take."""
        return len(self._index.live) * (BYTES_OF_VALUE * self._dimension + BYTES_OF_ROW) + self._database.cached_bytes

    @property
    def idle_readers(self) -> int:
        """Return the number of open connections that are not in use."""
        return self._database.idle

    def close_idle_readers(self) -> None:
        """Close the connections that are not in use."""
        self._database.close_idle()

    def job_times(self) -> JobTimes:
        """Return, for each kind of job that the bank has, the times at which one can be claimed."""
        with self._database.read_transaction() as connection:
            return read_job_times(connection)

    @cached_property
    def _own_turn(self) -> asyncio.Lock:
        """Return the turn of a bank in memory, which no other process can write."""
        return asyncio.Lock()

    def _drop_graph(self) -> None:
        if self._database.path is not None:
            find_graph(self._database.path).remove()

    async def _write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run ``work`` in a thread, in a transaction that is committed at the end.

        If this task is cancelled while the transaction waits for another one, nothing is written. A transaction that
        has begun is waited for.

        Raises:
            CommittedThenCancelled: the task was cancelled, and the transaction was committed.
        """
        decided = threading.Lock()  # belongs to the transaction that begins, or to the caller that gives up

        def write() -> T:
            with self._database.write_transaction() as connection:
                if not decided.acquire(blocking=False):
                    raise asyncio.CancelledError
                return work(connection, *args, **kwargs)

        running = start_in_thread(write)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if not decided.acquire(blocking=False):
                await _wait_for_end(running)
                if running.exception() is None:
                    raise CommittedThenCancelled from None
            raise

    def _commit(self, connection: sqlite3.Connection, changes: Changeset) -> None:
        if changes.items:
            require_vectors(connection, changes.items, self._embedder, self._dimension)
        write_changes(connection, changes)

    def _forget(self, selection: ForgetSelection, remade: Changeset | None) -> ForgetReceipt:
        began = time.perf_counter()
        with self._database.write_transaction() as connection:
            if remade is not None:
                require_vectors(connection, remade.items, self._embedder, self._dimension)
            removed = remove_marked(connection, selection, remade)
        if self._database.path is not None:
            sweep_staging(self._database.path.parent)
        if removed.messages or removed.forgotten.texts or has_unscrubbed_files(self._database):
            found = self._scrub_files(removed.forgotten, removed.spans)
        else:
            found = check_files(self._database)
        return _make_receipt(removed, found.verification, found, time.perf_counter() - began)

    def _scrub_files(self, forgotten: ForgottenTexts, spans: Quotes) -> ScrubResult:
        """Clean the bank's files of forgotten words, and return the result of the check that none is left."""
        self._drop_graph()
        path = self._database.path
        states = () if path is None else erase_states(path, remain=True)
        found = scrub_files(self._database, forgotten, spans, self._files())
        if states:  # the next process that opens the bank removes them
            with self._database.write_transaction() as connection:
                connection.execute(get_query("owe_scrub"))
        return replace(found, leftovers=(*found.leftovers, *states))

    def _replace_vectors(
        self, embedder: str, dimension: int, vectors: Sequence[tuple[str, NDArray[np.float32]]], seen: int | None
    ) -> None:
        with self._database.write_transaction() as connection:
            require_version(connection, seen)
            check_vectors(vectors, embedder, dimension)
            blobs = [(pack_vector(vector), id_) for id_, vector in vectors]
            replaced = connection.executemany(get_query("set_vector"), blobs).rowcount
            record_embedder(connection, embedder, dimension)
            connection.execute(get_query("bump_epoch"))
            (items,) = connection.execute(get_query("count_items")).fetchone()
            if items != replaced:
                raise StaleWrite(f"the bank has {items} items, but there are new vectors for {replaced} of them")
        self._drop_graph()
        self._embedder, self._dimension = embedder, dimension
        self._index = self._make_index()


def _split_entity(connection: sqlite3.Connection, merge: Merge, entity: Entity, moved: Sequence[Mention]) -> None:
    connection.execute(get_query("bump_version"), ("",))
    connection.execute(get_query("put_entity"), make_entity_row(entity))
    numbers = find_numbers(connection, "seq_of_items", {mention.item for mention in moved})
    rows = [(entity.id, merge.entity, numbers[mention.item], mention.surface) for mention in moved]
    connection.executemany(get_query("move_mention"), rows)
    undone = None if merge.undone is None else to_micros(merge.undone)
    connection.execute(get_query("undo_merge"), {"id": merge.id, "at": undone})


def open_store(database: Database, *, name: str, embedder: tuple[str, int], graph_from: int) -> SqliteStore:
    """Return the bank of a database. A new bank records the embedder and its dimension, an old one keeps its own."""
    try:
        recorded, dimension = _claim_embedder(database, *embedder)
        store = SqliteStore(database, name=name, embedder=recorded, dimension=dimension, graph_from=graph_from)
        store.finish_forgetting()
    except BaseException:
        database.close()
        raise
    return store


@asynccontextmanager
async def stage_store(folder: Path, *, name: str, embedder: tuple[str, int]) -> AsyncIterator[tuple[SqliteStore, Path]]:
    """Yield a new bank that nobody else can open, and its file. Both are removed at the end, unless the file was moved.

    Args:
        folder: the folder of the banks.
        name: the name that the bank has in messages.
        embedder: the name of the embedder of its vectors, and their dimension.
    """
    staging = await run_in_thread(StagingFolder, folder)
    try:
        file = staging.path / "bank"
        database = await run_in_thread(Database, file)
        store = await run_in_thread(
            lambda: open_store(database, name=name, embedder=embedder, graph_from=GRAPH_FROM_ROWS)
        )
        database.write_unsynced()  # nothing is acknowledged before the whole file is written to the disk
        try:
            yield store, file
        finally:
            await store.close()
    finally:
        await run_in_thread(staging.close)


def _claim_embedder(database: Database, embedder: str, dimension: int) -> tuple[str, int]:
    """Return the embedder and the dimension that the bank records. A new bank records the given ones."""
    with database.read_transaction() as connection:
        recorded = read_embedder(connection)
    if recorded is None:
        with database.write_transaction() as connection:
            recorded = read_embedder(connection)  # another process may have been faster
            if recorded is None:
                recorded = embedder, dimension
                record_embedder(connection, embedder, dimension)
    return recorded


async def _wait_for_end(running: asyncio.Future[T]) -> None:
    """Wait until a future is done, even if this task is cancelled meanwhile."""
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((running,))


async def _iterate_in_thread(values: Generator[T]) -> AsyncIterator[T]:
    """Yield an iterator's values, each computed in a thread."""
    try:
        while (value := await run_in_thread(next, values, None)) is not None:
            yield value
    finally:
        with suppress(ValueError):  # cancelled while its thread computes a value: it ends after that
            await run_in_thread(values.close)


def _make_receipt(
    removed: RemovedRows, verification: Verification, found: ScrubResult, seconds: float
) -> ForgetReceipt:
    return ForgetReceipt(
        messages=removed.messages,
        sessions=removed.sessions,
        items=removed.items,
        links=removed.links,
        entities=removed.entities,
        mentions=removed.mentions,
        jobs=removed.jobs,
        quotes=removed.quotes,
        possible=removed.possible,
        verification=verification,
        leftovers=found.leftovers,
        reasons=found.reasons,
        seconds=seconds,
    )
