"""The command ``recollect import``: it makes a bank from the output of ``recollect export``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.line_input import open_lines
from recollect.cli.output import format_count, print_json, print_line
from recollect.cli.runtime import load_chosen_settings, usage_errors, with_memory
from recollect.errors import MalformedLine, RecollectError

if TYPE_CHECKING:
    from recollect.app import Memory
    from recollect.domain.banks import BankInfo


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The export to read, or - for standard input.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Read an export into a new or empty bank. Items that were embedded by another embedder are embedded again."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    info = with_memory(settings, lambda memory: _import(memory, bank, file))
    if json:
        print_json(to_json(info))
    else:
        print_line(
            f"imported {format_count(info.messages, 'message')} and {format_count(info.items, 'item')} into bank {bank}"
        )


async def _import(memory: Memory, name: str, file: str) -> BankInfo:
    """Import a bank. If this fails, drop a bank that was created for the import, because it is only half full."""
    there = name in await memory.banks()
    with open_lines(file) as (lines, _):
        bank = await memory.bank(name)
        try:
            return await bank.import_(lines)
        except BaseException as exc:
            if not there:
                await memory.drop(name)
            elif isinstance(exc, MalformedLine):
                raise RecollectError(
                    f"{exc}. The lines before it were imported, so the bank is no longer empty. "
                    f"Erase it with `recollect banks --drop {name}` before you try again"
                ) from exc
            raise
