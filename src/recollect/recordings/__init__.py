"""Recorded replies of language models, and a server that gives them again.

What needs a model can so be shown and tested where none can be reached: the program talks to the server as it would to
any OpenAI-compatible endpoint, and a recording that no longer fits is told, not hidden.
"""

from recollect.recordings.entry import Asked, Entry
from recollect.recordings.folder import recording_names, recording_path
from recollect.recordings.recording import Recording
from recollect.recordings.report import ReplayReport, Stale
from recollect.recordings.server import ReplayServer
from recollect.recordings.upstream import Upstream
from recollect.recordings.verdicts import Verdict, verdicts_on

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
