"""The command ``recollect import``: it makes a bank from the output of ``recollect export``."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import options
from recollect.cli.line_input import keep_stream, open_lines
from recollect.cli.output import format_count, print_json, print_line
from recollect.cli.runtime import load_chosen_settings, usage_errors, with_memory


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The export to read, or - for standard input.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Read an export into a new or empty bank. Items that were embedded by another embedder are embedded again.

    The bank appears when it is complete. A bank that is not empty is never changed.
    """
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    with open_lines(file) as (lines, _), keep_stream(file, lines) as kept:
        info = with_memory(settings, lambda memory: memory.import_bank(bank, kept))
    if json:
        print_json(to_json(info))
    else:
        print_line(
            f"imported {format_count(info.messages, 'message')} and {format_count(info.items, 'item')} into bank {bank}"
        )
