"""What a refusal means for a job, and what an outage does."""

from datetime import UTC, datetime

from recollect.domain.jobs import Job
from recollect.errors import ModelUnavailable, NoAnswer
from recollect.worker.settings import WorkerSettings, counts, retry_at


def test_a_refusal_uses_up_an_attempt_and_an_outage_does_not():
    assert counts(NoAnswer("it refused"))
    assert not counts(ModelUnavailable("it is down"))
    last = Job(id="j", kind="k", payload="", attempts=WorkerSettings().attempts)
    now = datetime(2024, 5, 1, tzinfo=UTC)
    assert retry_at(last, NoAnswer("it refused"), now, WorkerSettings()) is None
    assert retry_at(last, ModelUnavailable("it is down"), now, WorkerSettings()) is not None
