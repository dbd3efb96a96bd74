"""Files and streams of lines."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from recollect.errors import InvalidInput

ReadPosition = Callable[[], tuple[int, int]]
"""How many bytes are read, of how many."""


@contextmanager
def open_lines(file: str) -> Iterator[tuple[Iterable[str], ReadPosition | None]]:
    """The lines of a UTF-8 file, or of standard input for "-", and how far it is read where that can be known.

    Lines end at a line feed alone, so that the text of a message is kept as it is.

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


def _open_file(file: str) -> IO[bytes]:
    try:
        return sys.stdin.buffer if file == "-" else open(file, "rb")
    except OSError as exc:
        raise InvalidInput(f"cannot read {file}: {exc.strerror}") from exc
