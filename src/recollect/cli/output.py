"""What goes to stdout and stderr: plain where nobody looks, with some weight in a terminal."""

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
    """Print a line; without colours in a pipe, or where ``NO_COLOR`` is set, and whatever the encoding."""
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    plain = text.encode(encoding, "backslashreplace").decode(encoding)
    typer.echo(plain, err=err, color=False if os.environ.get("NO_COLOR") else None)


def print_note(text: str) -> None:
    """Say something beside the data, on stderr: one line, whatever is quoted in it."""
    print_line(flatten_line(text), err=True)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; in ASCII where stdout is not UTF-8."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    typer.echo(json.dumps(value, ensure_ascii=encoding != "utf8"))


def format_strong(text: str) -> str:
    return typer.style(text, bold=True)


def format_faint(text: str) -> str:
    return typer.style(text, dim=True)


def format_green(text: str) -> str:
    return typer.style(text, fg=typer.colors.GREEN, bold=True)


def make_printable(text: str) -> str:
    """Text that a terminal only shows: what would move its cursor or turn its writing becomes U+FFFD."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def flatten_line(text: str) -> str:
    """Text on one line, as :func:`make_printable` leaves it."""
    return " ".join(make_printable(text).split())


def terminal_width() -> int:
    """Columns to write in: the terminal's, but lines of more than 100 are hard to read."""
    return min(shutil.get_terminal_size((80, 24)).columns, MAX_COLUMNS)


def indent_text(text: str, indent: str, *, fold: bool = False) -> str:
    """Text set off by ``indent``; folded in a terminal, elsewhere only where ``fold`` says so."""
    columns = terminal_width() if fold or sys.stdout.isatty() else 0
    return "\n".join(_fold_line(line, indent, columns) for line in make_printable(text).split("\n"))


def truncate_text(text: str, columns: int) -> str:
    """Text on one line, with an ellipsis where it does not fit."""
    line = flatten_line(text)
    return line if len(line) <= columns else line[: max(columns - 1, 0)].rstrip() + "…"


def format_table(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Rows of equal length in columns, two blanks between; the columns numbered in ``right`` are right-aligned."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(wide) if at in right else cell.ljust(wide)
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def format_count(number: int, noun: str) -> str:
    """ "1 message", "2,000 messages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_size(number: int) -> str:
    """Bytes for a reader: "412 kB", "1.3 MB"."""
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"


def _fold_line(line: str, indent: str, columns: int) -> str:
    if not columns:
        return indent + line
    return textwrap.fill(line, columns, initial_indent=indent, subsequent_indent=indent) or indent
