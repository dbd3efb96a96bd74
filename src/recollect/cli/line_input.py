"""Read lines from files and streams."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from recollect.errors import InvalidInput

ReadPosition = Callable[[], tuple[int, int]]
"""Returns the number of bytes that are read, and the number of all bytes."""


@contextmanager
def open_lines(file: str) -> Iterator[tuple[Iterable[str], ReadPosition | None]]:
    """Open a UTF-8 file, or standard input for "-". Yield its lines, and a function that returns the position in the
    file.

    Lines end only at a line feed, so that the text of a message does not change. The function is ``None`` if the size
    of the input is unknown.

    Raises:
        InvalidInput: the file cannot be read.
    """
    raw = _open_file(file)
    text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    total = 0 if file == "-" else os.fstat(raw.fileno()).st_size
    try:
        yield text, (lambda: (raw.tell(), total)) if total else None
    finally:
        text.detach()
        if file != "-":
            raw.close()


@contextmanager
def keep_stream(file: str, lines: Iterable[str]) -> Iterator[Iterable[str]]:
    """Yield lines that a thread can read without waiting for another program.

    Standard input and pipes are read to their end into a temporary file first. Ctrl-C could not interrupt a thread that
    waits for a line.
    """
    if file != "-" and Path(file).is_file():
        yield lines
        return
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as kept:
        kept.writelines(lines)
        kept.seek(0)
        yield kept


def _open_file(file: str) -> IO[bytes]:
    if file == "-":
        if sys.stdin is None:
            raise InvalidInput("cannot read -: standard input is closed")
        return sys.stdin.buffer
    try:
        return open(file, "rb")
    except (OSError, ValueError) as exc:  # a NUL in the name is a ValueError
        raise InvalidInput(f"cannot read {file}: {getattr(exc, 'strerror', None) or exc}") from exc
