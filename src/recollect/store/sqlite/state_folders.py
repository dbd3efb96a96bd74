"""The folder beside a bank's file in which language models keep what they know after they have read of it."""

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
    """Where a bank's states lie, whether there are any or not."""
    return bank.with_suffix(SUFFIX)


def erase_states(bank: Path, *, remain: bool) -> tuple[str, ...]:
    """Remove every state of a bank: it may tell of any word that was read. Names the files that could not be removed.

    What is in the folder is put out of its way first, at one stroke: who is about to write a state then finds no place
    for it. What is left of that when a process is killed is removed by the next. The folder itself stays if it is to
    ``remain``, empty and of this moment: so it says that states were erased just now.
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
        with suppress(OSError):  # what stays is told of
            path.rename(folder.with_name(f"{folder.name}{_ERASED_MARK}{uuid.uuid4().hex}"))


def _list_contents(folder: Path) -> list[Path]:
    """What is in the folder; itself where that cannot be told."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError:
        return [folder]


def _list_set_aside(folder: Path) -> list[Path]:
    name = re.compile(f"{re.escape(folder.name + _ERASED_MARK)}[0-9a-f]{{32}}")  # what no bank's file can be called
    return [path for path in folder.parent.iterdir() if name.fullmatch(path.name)]


def _list_files(path: Path) -> Iterator[Path]:
    """The files below a path; the path itself where it cannot be told."""
    below = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else []
    yield from below or [path]
