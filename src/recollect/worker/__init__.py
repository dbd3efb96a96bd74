"""Background work: claims jobs and commits what comes of them. With the facade, the only room that commits."""

from recollect.worker.background import Background
from recollect.worker.report import Outcome, WorkReport
from recollect.worker.settings import WorkerSettings
from recollect.worker.worker import Worker

__all__ = ["Background", "Outcome", "WorkReport", "Worker", "WorkerSettings"]
