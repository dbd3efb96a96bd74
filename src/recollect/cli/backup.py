"""The commands ``recollect backup`` and ``recollect restore``."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import options
from recollect.cli.output import format_count, format_size, print_json, print_line
from recollect.cli.runtime import load_chosen_settings, require_store, usage_errors, with_memory


def backup(
    bank: Annotated[str, typer.Argument(metavar="BANK", help="The name of the bank.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write. It must not exist.")],
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Copy a bank to a file, while others read and write it. The copy is checked before the file appears."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store)
    require_store(settings, bank)
    receipt = with_memory(settings, lambda memory: memory.backup(bank, file))
    if json:
        print_json(to_json(receipt))
    else:
        counts = f"{format_count(receipt.messages, 'message')} and {format_count(receipt.items, 'item')}"
        print_line(f"copied bank {bank} to {file}: {counts}, {format_size(receipt.size_bytes)}, checked")


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The backup to read.")],
    bank: Annotated[
        str | None,
        typer.Argument(metavar="[BANK]", help="The name of the new bank. By default, the name of the copied bank."),
    ] = None,
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Make a new bank from a backup. A bank that exists is never replaced."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store)
    info = with_memory(settings, lambda memory: memory.restore(file, bank))
    if json:
        print_json(to_json(info))
    else:
        counts = f"{format_count(info.messages, 'message')} and {format_count(info.items, 'item')}"
        print_line(f"restored bank {info.name}: {counts}")
