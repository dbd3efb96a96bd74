"""Recorded replies of language models, and a server that gives them again.

What needs a model can so be shown and tested where none can be reached: the program talks to the server as it would to
any OpenAI-compatible endpoint, and a recording that no longer fits is told, not hidden.
"""

from recollect_lab.recordings.entry import Asked, Entry
from recollect_lab.recordings.folder import recording_names, recording_path
from recollect_lab.recordings.recording import Recording
from recollect_lab.recordings.report import ReplayReport, Stale
from recollect_lab.recordings.server import ReplayServer
from recollect_lab.recordings.upstream import Upstream
from recollect_lab.recordings.verdicts import Verdict, verdicts_on

__all__ = [
    "Asked",
    "Entry",
    "Recording",
    "ReplayReport",
    "ReplayServer",
    "Stale",
    "Upstream",
    "Verdict",
    "recording_names",
    "recording_path",
    "verdicts_on",
]
