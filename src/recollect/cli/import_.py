"""``recollect import``: a bank from what ``recollect export`` wrote."""

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
    file: Annotated[str, typer.Argument(metavar="FILE", help="An export; - for standard input.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Take an export into a new or empty bank; items that another embedder has embedded are embedded anew."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    info = with_memory(settings, lambda memory: _import(memory, bank, file))
    if json:
        print_json(to_json(info))
    else:
        print_line(
            f"took in {format_count(info.messages, 'message')} and {format_count(info.items, 'item')} into bank {bank}"
        )


async def _import(memory: Memory, name: str, file: str) -> BankInfo:
    """Import; a bank that was made for it does not stay behind half full."""
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
                    f"{exc}; what came before it is kept, and the bank is no longer empty: "
                    f"erase it with `recollect banks --drop {name}` before trying again"
                ) from exc
            raise
