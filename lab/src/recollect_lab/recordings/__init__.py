"""Recorded replies of language models, and a server that gives them again.

What needs a model can so be shown and tested where none can be reached: the program talks to the server as it would to
any OpenAI-compatible endpoint, and a recording that no longer fits is told, not hidden.
"""

from recollect_lab.recordings.recorded_reply import RecordedReply, RequestKey
from recollect_lab.recordings.recording import Recording
from recollect_lab.recordings.report import ReplayReport, StaleReply
from recollect_lab.recordings.server import ReplayServer
from recollect_lab.recordings.shipped import list_recordings, open_recording_folder
from recollect_lab.recordings.upstream import Upstream
from recollect_lab.recordings.verdicts import Verdict, load_verdicts

__all__ = [
    "RecordedReply",
    "Recording",
    "ReplayReport",
    "ReplayServer",
    "RequestKey",
    "StaleReply",
    "Upstream",
    "Verdict",
    "list_recordings",
    "load_verdicts",
    "open_recording_folder",
]
