"""What a refusal means for a job, and what an outage does."""

from datetime import UTC, datetime

from recollect.domain.jobs import Job
from recollect.errors import ModelUnavailable, NoAnswer
from recollect.worker.settings import WorkerSettings, compute_retry_time, uses_attempt


def test_a_refusal_uses_up_an_attempt_and_an_outage_does_not():
    assert uses_attempt(NoAnswer("it refused"))
    assert not uses_attempt(ModelUnavailable("it is down"))
    last = Job(id="j", kind="k", payload="", attempts=WorkerSettings().attempts)
    now = datetime(2024, 5, 1, tzinfo=UTC)
    assert compute_retry_time(last, NoAnswer("it refused"), now, WorkerSettings()) is None
    assert compute_retry_time(last, ModelUnavailable("it is down"), now, WorkerSettings()) is not None
