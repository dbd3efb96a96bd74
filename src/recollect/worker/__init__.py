"""Background work: claims jobs and commits what comes of them. With the facade, the only room that commits."""

from recollect.worker.background import BackgroundWorker
from recollect.worker.settings import WorkerSettings
from recollect.worker.work_report import JobOutcome, WorkReport
from recollect.worker.worker import Worker

__all__ = ["BackgroundWorker", "JobOutcome", "WorkReport", "Worker", "WorkerSettings"]
