"""The command ``recollect export``: it writes a bank as JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import format_count, print_line
from recollect.cli.runtime import load_chosen_settings, usage_errors, with_bank
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.memory.bank import Bank


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write, or - for standard output.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    embedder: options.Embedder = None,
) -> None:
    """Write a whole bank as JSON Lines: the raw log and everything derived from it, including vectors.

    The file appears in its place when it is complete. It is in UTF-8 and contains everything that was said.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)

    async def write(opened: Bank) -> int:
        lines = 0
        with _open_output(file) as out:
            async for line in opened.export():
                out.write(f"{line}\n".encode())
                lines += 1
        return lines

    lines = with_bank(settings, bank, write)
    print_line(f"wrote {format_count(lines, 'line')} of bank {bank} to {file}", err=True)


@contextmanager
def _open_output(file: str) -> Iterator[IO[bytes]]:
    """Open the output for bytes. A file is first written under another name, so that half an export never looks
    complete.
    """
    if file == "-":
        if sys.stdout is None:
            raise InvalidInput("cannot write -: standard output is closed")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if "\0" in file:
        raise InvalidInput("the name of a file cannot contain a NUL character")
    target = Path(file)
    if target.exists() and not target.is_file():  # a pipe, a terminal or /dev/null is written directly
        with target.open("wb") as out:
            yield out
        return
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
