"""A year of talk, with known questions: what ``recollect demo`` retains, in the evaluation's format."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from pathlib import Path


def sample_path() -> AbstractContextManager[Path]:
    """The shipped ``conversation.jsonl`` as a file, for as long as the context lasts."""
    return as_file(files(__name__) / "conversation.jsonl")
