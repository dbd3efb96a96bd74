"""What a look into the queue costs does not depend on how long it is: counted in steps of SQLite's, not in time."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from earlier import make_earlier_bank

from recollect.domain.changes import Changeset
from recollect.domain.jobs import Job
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.folder import SqliteFolder
from recollect.store.sqlite.named_queries import get_query

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
KINDS = ("merge", "read", "sum up")


@contextmanager
def steps(store):
    """Counts what SQLite does meanwhile."""
    counter = count()
    connection = store._database._writer
    connection.set_progress_handler(lambda: next(counter) < 0, 1)
    try:
        yield lambda: next(counter)
    finally:
        connection.set_progress_handler(None, 0)


async def waiting(jobs, *, due=None, error=None):
    """A store in memory in which so many jobs wait, each of them put off for an error where there is one."""
    store = await SqliteFolder(":memory:").open("ada", embedder="hash-8", dimension=8)
    one = Job(id="", kind="merge", payload="", due=due)
    await store.commit(Changeset(jobs=tuple(replace(one, id=f"j{n:04}") for n in range(jobs))))
    if error is not None:
        while (job := await store.claim(KINDS, "w1", NOON, 60, ignore_schedule=True)) is not None:
            await store.settle(job, error=error, retry_at=LATER, counted=False, now=NOON)
    return store


async def cost(jobs, look, **how):
    """The steps of a look into such a queue, and what it found."""
    store = await waiting(jobs, **how)
    with steps(store) as counted:
        found = await look(store)
    taken = counted()
    await store.close()
    return taken, found


async def due_now(store):
    job = await store.claim(KINDS, "w2", NOON, 60)
    return job and job.id


async def in_a_hurry(store):
    job = await store.claim(KINDS, "w2", NOON, 60, ignore_schedule=True, failed_before=LATER)
    return job and job.id


async def put_off(store):
    return await store.blocked_reasons(["LimitReached", "NoModel"], NOON)


@pytest.mark.parametrize(
    ("look", "how", "found"),
    [
        (due_now, {}, "j0000"),
        (due_now, {"due": LATER}, None),
        (due_now, {"error": "LimitReached: spent"}, None),
        (in_a_hurry, {"due": LATER}, "j0000"),
        (in_a_hurry, {"error": "LimitReached: spent"}, "j0000"),
        (put_off, {"due": LATER}, []),
        (put_off, {"error": "KeyError: spent"}, []),
        (put_off, {"error": "LimitReached: spent"}, ["LimitReached: spent"]),
    ],
)
async def test_a_look_costs_the_same_however_many_jobs_wait(look, how, found):
    few, many = await cost(5, look, **how), await cost(300, look, **how)
    assert few == many
    assert few[0] > 0
    assert few[1] == found


def test_a_bank_of_before_tells_what_its_jobs_were_put_off_for(tmp_path):
    job = "INSERT INTO job (id, kind, payload, due, error) VALUES ('j', 'k', '', 9, 'Limit: 5: spent')"
    make_earlier_bank(tmp_path / "ada.bank", 2, job)
    new = Database(tmp_path / "ada.bank")
    with new.read_transaction() as connection:
        assert connection.execute(get_query("blocked_reasons"), {"kinds": '["Limit"]', "now": 8}).fetchall() == [
            ("Limit: 5: spent",)
        ]
    new.close()
