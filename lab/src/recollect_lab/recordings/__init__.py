"""Recorded replies of language models, and a server that replays them.

With a recording, features that need a model can be shown and tested without one. The program talks to the server as to
any OpenAI-compatible endpoint. If a recording does not fit the requests any more, the report says so.
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
