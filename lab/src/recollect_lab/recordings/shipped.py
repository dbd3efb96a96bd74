"""Find the recordings that come with recollect-lab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from recollect.errors import InvalidInput
from recollect_lab.recordings.recording import REPLIES

_PAGE = "README.md"


def list_recordings() -> tuple[str, ...]:
    """Return the names of the shipped recordings. A recording with a page but without replies is included."""
    folders = (folder for folder in files("recollect_lab.recordings").iterdir() if folder.is_dir())
    return tuple(
        sorted(folder.name for folder in folders if any((folder / file).is_file() for file in (REPLIES, _PAGE)))
    )


@contextmanager
def open_recording_folder(name: str) -> Iterator[Path]:
    """Yield the folder of a shipped recording. It is available until the context ends.

    Raises:
        InvalidInput: there is no recording with this name.
    """
    if name not in list_recordings():
        there = ", ".join(list_recordings()) or "none"
        raise InvalidInput(f"no recording {name!r}; the shipped recordings are: {there}")
    with as_file(files("recollect_lab.recordings") / name) as folder:
        yield folder
