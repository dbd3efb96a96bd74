"""Do background work: claim jobs and commit their results. Only this package and the facade commit."""

from recollect.worker.background import BackgroundWorker
from recollect.worker.settings import WorkerSettings
from recollect.worker.work_report import JobOutcome, WorkReport
from recollect.worker.worker import Worker

__all__ = ["BackgroundWorker", "JobOutcome", "WorkReport", "Worker", "WorkerSettings"]
