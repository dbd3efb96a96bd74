"""Write to stdout and stderr: plain text in a pipe, and text with styles in a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import typer

MAX_COLUMNS = 100

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def print_line(text: str = "", *, err: bool = False) -> None:
    """Print a line in any encoding. There are no colours in a pipe, or if ``NO_COLOR`` is set."""
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    plain = text.encode(encoding, "backslashreplace").decode(encoding)
    typer.echo(plain, err=err, color=False if os.environ.get("NO_COLOR") else None)


def print_note(text: str) -> None:
    """Print a remark on stderr, apart from the data. It is always one line, even if it quotes a longer text."""
    print_line(flatten_line(text), err=True)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON. It is in ASCII if stdout is not UTF-8."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    typer.echo(json.dumps(value, ensure_ascii=encoding != "utf8"))


def format_strong(text: str) -> str:
    return typer.style(text, bold=True)


def format_faint(text: str) -> str:
    return typer.style(text, dim=True)


def format_green(text: str) -> str:
    return typer.style(text, fg=typer.colors.GREEN, bold=True)


def make_printable(text: str) -> str:
    """Return text that is safe to show in a terminal.

    Characters that would move the cursor or change the direction of writing become U+FFFD.
    """
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def flatten_line(text: str) -> str:
    """Return the :func:`printable` text on one line."""
    return " ".join(make_printable(text).split())


def terminal_width() -> int:
    """Return the number of columns: that of the terminal, but at most 100, because longer lines are hard to read."""
    return min(shutil.get_terminal_size((80, 24)).columns, MAX_COLUMNS)


def indent_text(text: str, indent: str, *, fold: bool = False) -> str:
    """Return text indented by ``indent``. Lines are folded in a terminal, and elsewhere only with ``fold``."""
    columns = terminal_width() if fold or sys.stdout.isatty() else 0
    return "\n".join(_fold_line(line, indent, columns) for line in make_printable(text).split("\n"))


def truncate_text(text: str, columns: int) -> str:
    """Return text on one line of at most ``columns`` columns. An ellipsis marks text that was cut."""
    line = flatten_line(text)
    return line if len(line) <= columns else line[: max(columns - 1, 0)].rstrip() + "…"


def format_table(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Return rows of equal length as columns with two blanks between them. The columns in ``right`` are
    right-aligned.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(wide) if at in right else cell.ljust(wide)
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 message" or "2,000 messages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_size(number: int) -> str:
    """Return a number of bytes for a reader, such as "412 kB" or "1.3 MB"."""
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"


def _fold_line(line: str, indent: str, columns: int) -> str:
    if not columns:
        return indent + line
    return textwrap.fill(line, columns, initial_indent=indent, subsequent_indent=indent) or indent
