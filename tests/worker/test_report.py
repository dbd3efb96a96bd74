"""What a caller is told of the jobs that are left: decided by the queue alone."""

from datetime import timedelta

import pytest
from hands import NOON

from recollect.domain.jobs import JobRecord, JobState
from recollect.worker.work_report import describe_left_jobs

BEFORE = NOON - timedelta(seconds=1)


def record(state, *, error=None, failed=None, kind="knot", worker=None):
    return JobRecord(
        id="j1",
        kind=kind,
        state=state,
        attempts=1,
        error=error,
        reply=None,
        failed=failed,
        due=None,
        worker=worker,
        messages=(),
    )


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (record(JobState.WAITING), ()),
        (record(JobState.WAITING, error="busy", failed=BEFORE), ("j1: busy",)),
        (record(JobState.DEAD, error="broken", failed=NOON), ("j1: broken",)),
        (record(JobState.DEAD, error="broken", failed=BEFORE), ()),
        (record(JobState.RUNNING, worker="w2"), ("j1: w2 is still doing it",)),
        (record(JobState.RUNNING, worker="w2", error="busy"), ("j1: w2 is still doing it",)),
        (
            record(JobState.WAITING, kind="other"),
            ("1 of the kind 'other' wait, because no worker here does such jobs",),
        ),
        (record(JobState.DEAD, kind="other", error="broken", failed=NOON), ()),
        (record(JobState.RUNNING, kind="other", worker="w2"), ()),
    ],
)
def test_what_is_told_of_a_job_that_is_left(left, told):
    assert describe_left_jobs([left], kinds={"knot"}, since=NOON) == told


def test_jobs_that_nobody_here_does_are_one_line_a_kind():
    left = [record(JobState.WAITING, kind=kind) for kind in ("b", "a", "b")]
    assert describe_left_jobs(left, kinds={"knot"}, since=NOON) == (
        "2 of the kind 'b' wait, because no worker here does such jobs",
        "1 of the kind 'a' wait, because no worker here does such jobs",
    )
