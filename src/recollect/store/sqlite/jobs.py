"""The queue of a bank's jobs. Every function works in the transaction that the caller has opened."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.time import add_seconds, from_micros, to_micros
from recollect.errors import InvalidInput, LostLease
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import Row, reports_damage

MOST_ATTEMPTS = 5
MAX_POSTPONE_S = 600
"""The longest delay of a waiting job by additions to it, in seconds after the time at which it would first have run."""

_ERROR_FORGOTTEN = "the error of this job was removed, because something has been forgotten since"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailure:
    """The failure of an attempt at a job. Without ``retry_at`` the job is not tried again."""

    error: str
    at: datetime
    reply: str | None = None
    retry_at: datetime | None = None
    counted: bool = True


def add_jobs(connection: sqlite3.Connection, jobs: Sequence[Job], seqs: dict[str, int]) -> None:
    """Queue jobs, or add to jobs that are already queued.

    ``seqs`` are the store's numbers of the messages that they name.
    """
    for job in jobs:
        due = 0 if job.due is None else to_micros(job.due)
        cells = {"id": job.id, "kind": job.kind, "payload": job.payload, "due": due}
        connection.execute(get_query("add_job"), {**cells, "longest": MAX_POSTPONE_S * 1_000_000})
        named = [{"job": job.id, "message": seqs[message]} for message in job.messages]
        connection.executemany(get_query("add_job_message"), named)


def claim_job(
    connection: sqlite3.Connection,
    kinds: Sequence[str],
    worker: str,
    now: datetime,
    lease_s: float,
    *,
    ignore_schedule: bool,
    failed_before: datetime | None,
) -> Job | None:
    """Give a worker the job that has been due longest. See :meth:`recollect.store.protocol.Store.claim`."""
    # A job that ends its worker each time must not be claimed forever.
    vanished = connection.execute(get_query("vanished_jobs"), {"now": to_micros(now), "most": MOST_ATTEMPTS}).fetchall()
    for (id_,) in vanished:
        _write_failure(connection, id_, AttemptFailure(error="its worker vanished each time it was tried", at=now))
    bounds = {
        "kinds": json.dumps(list(kinds)),
        "worker": worker,
        "claim": secrets.token_hex(8),
        "now": to_micros(now),
        "ignore_schedule": ignore_schedule,
        "failed_before": None if failed_before is None else to_micros(failed_before),
        "until": to_micros(add_seconds(now, lease_s)),
    }
    row = connection.execute(get_query("claim_job"), bounds).fetchone()
    if row is None:
        return None
    connection.execute(get_query("keep_messages"), (row[0],))
    return _read_job(row, [id_ for (id_,) in connection.execute(get_query("messages_of_job"), (row[0],))])


def renew_lease(connection: sqlite3.Connection, job: Job, now: datetime, lease_s: float) -> None:
    """Let a claimed job belong to its worker for ``lease_s`` more seconds from ``now`` on.

    Raises:
        LostLease: the job no longer belongs to this claim.
    """
    until = add_seconds(now, lease_s)
    bounds = {"id": job.id, "claim": job.claim, "now": to_micros(now), "until": to_micros(until)}
    if not connection.execute(get_query("renew_lease"), bounds).rowcount:
        raise _lost_lease(job)


def finish_job(connection: sqlite3.Connection, job: Job) -> None:
    """Remove a job that is done from the queue. A job that was queued again while it ran waits for its next run.

    Raises:
        LostLease: the job no longer belongs to this claim.
    """
    if not _is_queued_anew(connection, job):
        connection.execute(get_query("finish_job"), (job.id,))
        return
    connection.execute(get_query("done_with_messages"), (job.id,))
    connection.execute(get_query("keep_messages"), (job.id,))
    connection.execute(get_query("repeat_job"), (job.id,))


def fail_job(connection: sqlite3.Connection, job: Job, failure: AttemptFailure) -> None:
    """Put a failed job back, to be run again later, or mark it as dead.

    Raises:
        LostLease: the job no longer belongs to this claim.
    """
    _is_queued_anew(connection, job)
    _write_failure(connection, job.id, failure)


def list_jobs(connection: sqlite3.Connection, states: Sequence[JobState]) -> list[JobRecord]:
    """Return the jobs in these states, or all jobs if no state is given, by the time when they are due."""
    wanted = json.dumps([JobState(state).value for state in states or JobState])
    return [_read_job_record(row) for row in connection.execute(get_query("jobs"), (wanted,))]


def blocked_reasons(connection: sqlite3.Connection, kinds: Sequence[str], now: datetime) -> list[str]:
    """Return the errors that keep failed jobs from being due: for each of these kinds, that of the first job."""
    bounds = {"kinds": json.dumps(list(kinds)), "now": to_micros(now)}
    return [error for (error,) in connection.execute(get_query("blocked_reasons"), bounds)]


def retry_job(connection: sqlite3.Connection, id_: str) -> None:
    """Let a dead, failed or running job wait as if it were new, and be due at once.

    A running job is taken from its worker.

    Raises:
        InvalidInput: no dead, failed or running job has this id.
    """
    if not connection.execute(get_query("retry_job"), (id_,)).rowcount:
        raise InvalidInput(f"there is no job {id_!r} that is dead, has failed or is running")
    connection.execute(get_query("keep_messages"), (id_,))
    connection.execute(get_query("repeat_job"), (id_,))


def drop_job(connection: sqlite3.Connection, id_: str) -> None:
    """Remove a job in any state from the queue. If the job is running, its result is refused.

    Raises:
        InvalidInput: no job has this id.
    """
    if not connection.execute(get_query("drop_job"), (id_,)).rowcount:
        raise InvalidInput(f"there is no job {id_!r}")


def cut_jobs(connection: sqlite3.Connection, quoting: Sequence[str]) -> int:
    """Remove the messages that are marked to be forgotten from the jobs about them. Return the number of these jobs.

    The rest of a job is another piece of work. It waits, whatever its state was, and a worker that is running it has
    lost it. A job is dropped if it has no message left, or if it quotes a forgotten message. ``quoting`` are the ids of
    the jobs that quote one. Every other job that is running begins again, because its prompt may contain forgotten
    words. The errors and replies of failed jobs are removed. They may quote anything that the model was shown, which
    can be more than the job's own messages.
    """
    about = _list_ids(connection, "cut_short_jobs")
    connection.execute(get_query("cut_jobs"))
    for id_ in quoting:
        connection.execute(get_query("drop_job"), (id_,))
    for id_ in about.difference(quoting):
        (left,) = connection.execute(get_query("has_messages"), (id_,)).fetchone()
        connection.execute(get_query("keep_messages" if left else "drop_job"), (id_,))
        connection.execute(get_query("repeat_job"), (id_,))
    for id_ in _list_ids(connection, "running_jobs"):
        connection.execute(get_query("keep_messages"), (id_,))
        connection.execute(get_query("repeat_job"), (id_,))
    connection.execute(get_query("mute_jobs"), {"error": _ERROR_FORGOTTEN})
    return len(about.union(quoting))


def count_cut_jobs(connection: sqlite3.Connection, quoting: Sequence[str]) -> int:
    """Return the number of jobs that :func:`cut_jobs` would drop, or would take messages from."""
    return len(_list_ids(connection, "cut_short_jobs").union(quoting))


def _list_ids(connection: sqlite3.Connection, name: str) -> set[str]:
    return {id_ for (id_,) in connection.execute(get_query(name))}


def _is_queued_anew(connection: sqlite3.Connection, job: Job) -> bool:
    """Return true if a claimed job was queued again while it ran.

    Raises:
        LostLease: the job no longer belongs to this claim.
    """
    row = connection.execute(get_query("claimed"), (job.id, job.claim)).fetchone()
    if row is None:
        raise _lost_lease(job)
    return bool(row[0])


def _lost_lease(job: Job) -> LostLease:
    return LostLease(
        f"job {job.id!r} no longer belongs to this worker: its lease ran out, or it was dropped or forgotten"
    )


def _write_failure(connection: sqlite3.Connection, id_: str, failure: AttemptFailure) -> None:
    connection.execute(get_query("keep_messages"), (id_,))
    bounds: dict[str, object] = {
        "id": id_,
        "error": failure.error,
        "reply": failure.reply,
        "failed": to_micros(failure.at),
        "counted": failure.counted,
    }
    if failure.retry_at is None:
        connection.execute(get_query("bury_job"), bounds)
    else:
        connection.execute(get_query("delay_job"), {**bounds, "retry_at": to_micros(failure.retry_at)})


@reports_damage
def _read_job(row: Row, messages: Sequence[str]) -> Job:
    id_, kind, payload, due, attempts, failures, claim = row
    return Job(
        id=id_,
        kind=kind,
        payload=payload,
        messages=tuple(messages),
        due=_read_due(due),
        attempts=attempts,
        failures=failures,
        claim=claim,
    )


@reports_damage
def _read_job_record(row: Row) -> JobRecord:
    id_, kind, state, attempts, error, reply, failed, due, worker, messages = row
    return JobRecord(
        id=id_,
        kind=kind,
        state=JobState(state),
        attempts=attempts,
        error=error,
        reply=reply,
        failed=None if failed is None else from_micros(failed),
        due=_read_due(due),
        worker=worker,
        messages=tuple(json.loads(messages)),
    )


def _read_due(due: int) -> datetime | None:
    return from_micros(due) if due else None
