"""When what failed is tried again: decided by values alone."""

from datetime import timedelta

import pytest
from hands import NOON, job

from recollect.errors import (
    EmbedderMismatch,
    InvalidInput,
    InvalidReply,
    LimitReached,
    MissingExtra,
    ModelUnavailable,
    NoModel,
    StaleWrite,
    StoreUnavailable,
)
from recollect.worker.settings import WorkerSettings, compute_backoff_s, compute_retry_time, find_reply, uses_attempt

SETTINGS = WorkerSettings(attempts=5, backoff_s=10.0, longest_backoff_s=600.0)
WRONG = InvalidReply("an end before a start", '{"start": 2024}')
LONGEST = 600.0


@pytest.mark.parametrize(("attempts", "pause"), [(1, 10), (2, 40), (3, 160), (4, 600), (40, 600), (4000, 600)])
def test_pauses_grow_to_the_longest(attempts, pause):
    assert compute_backoff_s(attempts, SETTINGS) == pause


@pytest.mark.parametrize("error", [WRONG, ValueError("a bug"), TimeoutError("too long")])
@pytest.mark.parametrize(("attempts", "pause"), [(1, 10), (2, 40), (3, 160), (4, 600), (5, None), (6, None)])
def test_what_fails_is_tried_again_until_it_is_put_aside(error, attempts, pause):
    expected = None if pause is None else NOON + timedelta(seconds=pause)
    assert compute_retry_time(job(attempts=attempts), error, NOON, SETTINGS) == expected
    assert uses_attempt(error)


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (LimitReached("spent", NOON + timedelta(hours=12)), 12 * 3600),
        (LimitReached("spent", NOON + timedelta(seconds=11)), 11),
        (LimitReached("spent", NOON), 10),  # another's clock: never at once again
        (LimitReached("spent", NOON - timedelta(days=1)), 10),
        (LimitReached("spent for ever", None), LONGEST),
        (NoModel("none"), LONGEST),
        (MissingExtra("openai", "models"), LONGEST),
        (EmbedderMismatch("rebuilt"), LONGEST),
        (StaleWrite("others were faster"), 10),
        (StoreUnavailable("the disk is full"), 10),
    ],
)
@pytest.mark.parametrize("attempts", [1, 5, 99])
def test_what_says_nothing_of_the_job_waits_and_uses_up_no_attempt(error, pause, attempts):
    assert compute_retry_time(job(attempts=attempts), error, NOON, SETTINGS) == NOON + timedelta(seconds=pause)
    assert not uses_attempt(error)


@pytest.mark.parametrize("attempts", [1, 5, 99])
@pytest.mark.parametrize(("failures", "pause"), [(0, 10), (1, 40), (2, 160), (3, 600), (4000, 600)])
def test_a_model_that_cannot_be_reached_is_tried_ever_more_seldom_and_for_ever(failures, pause, attempts):
    error = ModelUnavailable("gone")
    expected = NOON + timedelta(seconds=pause)
    assert compute_retry_time(job(attempts=attempts, failures=failures), error, NOON, SETTINGS) == expected
    assert not uses_attempt(error)


def test_only_a_reply_is_kept_for_inspection():
    assert find_reply(WRONG) == '{"start": 2024}'
    assert find_reply(ModelUnavailable("gone")) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"attempts": 0},
        {"lease_s": 0},
        {"call_timeout_s": 0},
        {"poll_s": float("nan")},
        {"poll_s": 0},
        {"backoff_s": 0},
        {"backoff_s": 60, "longest_backoff_s": 59},
    ],
)
def test_settings_that_would_spin_or_stand_still_are_refused(wrong):
    with pytest.raises(InvalidInput, match="worker"):
        WorkerSettings(**wrong)
