"""The queue of a bank's jobs. Every function works in the transaction that the caller has opened."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.domain.jobs import Job, JobRecord, JobState
from recollect.domain.time import to_micros
from recollect.errors import InvalidInput, LostLease
from recollect.store.sqlite.leak_search import split_pieces
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import Row, read_utc, reports_damage

MOST_ATTEMPTS = 5
MAX_POSTPONE_S = 600
"""What is added to a waiting job puts it off by no more than this from when it would first have run."""

_ERROR_FORGOTTEN = "what it failed of is no longer kept: something has been forgotten since"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailure:
    """How an attempt at a job failed; without ``retry_at`` it is not tried again."""

    error: str
    at: datetime
    reply: str | None = None
    retry_at: datetime | None = None
    counted: bool = True


def add_jobs(connection: sqlite3.Connection, jobs: Sequence[Job], seqs: dict[str, int]) -> None:
    """Queue jobs, or add to those that are queued; ``seqs`` are the store's numbers of the messages they name."""
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
    """Give the job that has been due longest to a worker, one whose lease ran out included."""
    # A job that takes its worker down each time must not be claimed for ever.
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
        "until": to_micros(now + timedelta(seconds=lease_s)),
    }
    row = connection.execute(get_query("claim_job"), bounds).fetchone()
    if row is None:
        return None
    connection.execute(get_query("keep_messages"), (row[0],))
    return _read_job(row, [id_ for (id_,) in connection.execute(get_query("messages_of_job"), (row[0],))])


def finish_job(connection: sqlite3.Connection, job: Job) -> None:
    """Take a job that is done off the queue; one that was queued anew meanwhile waits for its next run.

    Raises:
        LostLease: it is no longer this claim's.
    """
    if not _is_queued_anew(connection, job):
        connection.execute(get_query("finish_job"), (job.id,))
        return
    connection.execute(get_query("done_with_messages"), (job.id,))
    connection.execute(get_query("keep_messages"), (job.id,))
    connection.execute(get_query("repeat_job"), (job.id,))


def fail_job(connection: sqlite3.Connection, job: Job, failure: AttemptFailure) -> None:
    """Put a job that failed back, to be run again later, or lay it aside as dead.

    Raises:
        LostLease: it is no longer this claim's.
    """
    _is_queued_anew(connection, job)
    _write_failure(connection, job.id, failure)


def list_jobs(connection: sqlite3.Connection, states: Sequence[JobState]) -> list[JobRecord]:
    """Jobs in these states, or all, the one that is due first first."""
    wanted = json.dumps([JobState(state).value for state in states or JobState])
    return [_read_job_record(row) for row in connection.execute(get_query("jobs"), (wanted,))]


def blocked_reasons(connection: sqlite3.Connection, kinds: Sequence[str], now: datetime) -> list[str]:
    """What keeps jobs from being due after they have failed: for each of these kinds of error the first job's."""
    bounds = {"kinds": json.dumps(list(kinds)), "now": to_micros(now)}
    return [error for (error,) in connection.execute(get_query("blocked_reasons"), bounds)]


def retry_job(connection: sqlite3.Connection, id_: str) -> None:
    """Let a job that is dead, has failed or runs wait as if it were new, for at once; who runs it has lost it.

    Raises:
        InvalidInput: no such job has this id.
    """
    if not connection.execute(get_query("retry_job"), (id_,)).rowcount:
        raise InvalidInput(f"there is no job {id_!r} that is dead, has failed or runs")
    connection.execute(get_query("keep_messages"), (id_,))
    connection.execute(get_query("repeat_job"), (id_,))


def drop_job(connection: sqlite3.Connection, id_: str) -> None:
    """Take a job off the queue, whatever its state; the outcome of one that runs is not kept.

    Raises:
        InvalidInput: no job has this id.
    """
    if not connection.execute(get_query("drop_job"), (id_,)).rowcount:
        raise InvalidInput(f"there is no job {id_!r}")


def cut_jobs(connection: sqlite3.Connection) -> int:
    """Take the messages that are marked to be forgotten from the jobs about them; gives how many jobs that were.

    What is left of a job is another piece of work: it waits, whatever its state was, and who runs it has lost it. One
    that is about nothing any more, or quotes what goes, is dropped. What jobs failed of may quote anything that they
    were shown, which can be more than what they are about: it is not kept.
    """
    told: dict[str, list[str]] = {}
    payloads = {}
    for id_, payload, text, captions in connection.execute(get_query("cut_short_jobs")):
        told.setdefault(id_, []).extend((text, *json.loads(captions)))
        payloads[id_] = payload
    connection.execute(get_query("cut_jobs"))
    for id_, texts in told.items():
        (left,) = connection.execute(get_query("has_messages"), (id_,)).fetchone()
        if not left or any(piece in payloads[id_] for piece in split_pieces(texts)):
            connection.execute(get_query("drop_job"), (id_,))
        else:
            connection.execute(get_query("keep_messages"), (id_,))
            connection.execute(get_query("repeat_job"), (id_,))
    connection.execute(get_query("mute_jobs"), {"error": _ERROR_FORGOTTEN})
    return len(told)


def _is_queued_anew(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether a claimed job was queued anew while it ran."""
    row = connection.execute(get_query("claimed"), (job.id, job.claim)).fetchone()
    if row is None:
        raise LostLease(f"job {job.id!r} is no longer this worker's: its lease ran out, or it was dropped or forgotten")
    return bool(row[0])


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
        failed=None if failed is None else read_utc(failed),
        due=_read_due(due),
        worker=worker,
        messages=tuple(json.loads(messages)),
    )


def _read_due(due: int) -> datetime | None:
    return read_utc(due) if due else None
