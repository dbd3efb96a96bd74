"""The sample conversation for ``recollect demo``: a year of talk with known questions, in the format of the
evaluation.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from pathlib import Path


def sample_path() -> AbstractContextManager[Path]:
    """Return the ``conversation.jsonl`` of the package as a file. It exists until the context ends."""
    return as_file(files(__name__) / "conversation.jsonl")
