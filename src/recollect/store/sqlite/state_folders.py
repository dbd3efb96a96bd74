"""The folder next to a bank's file in which language models store their states after they have read from the bank."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SUFFIX = ".states"

_ERASED_MARK = ".gone-"


def find_states_folder(bank: Path) -> Path:
    """Return the path of a bank's folder for states, whether the folder exists or not."""
    return bank.with_suffix(SUFFIX)


def erase_states(bank: Path, *, remain: bool) -> tuple[str, ...]:
    """Remove every state of a bank, because a state may contain any word that was read. Return the files that remain.

    The contents of the folder are renamed first, so that a process that is about to write a state finds no place for
    it. If the process is killed, the next one removes what is left. With ``remain``, the folder itself stays, empty and
    with the current time. Its time shows that states were erased just now.
    """
    folder = find_states_folder(bank)
    if folder.exists():
        _set_aside(folder)
    for path in _list_set_aside(folder):
        shutil.rmtree(path, ignore_errors=True)
    if not remain:
        shutil.rmtree(folder, ignore_errors=True)
    left = [*_list_set_aside(folder), *_list_contents(folder)]
    return tuple(sorted(str(file.relative_to(folder.parent)) for path in left for file in _list_files(path)))


def _set_aside(folder: Path) -> None:
    with suppress(OSError):
        os.utime(folder)
    for path in _list_contents(folder):
        with suppress(OSError):  # files that stay are reported
            path.rename(folder.with_name(f"{folder.name}{_ERASED_MARK}{uuid.uuid4().hex}"))


def _list_contents(folder: Path) -> list[Path]:
    """Return the contents of the folder, or the folder itself if it cannot be read."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError:
        return [folder]


def _list_set_aside(folder: Path) -> list[Path]:
    name = re.compile(f"{re.escape(folder.name + _ERASED_MARK)}[0-9a-f]{{32}}")  # no bank's file can have this name
    return [path for path in folder.parent.iterdir() if name.fullmatch(path.name)]


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the files below a path, or the path itself if none is found."""
    below = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else []
    yield from below or [path]
