"""The command ``recollect banks``: it lists the banks of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import format_size, format_table, print_json, print_line, print_note
from recollect.cli.runtime import (
    FAILED,
    confirm,
    load_chosen_settings,
    require_store,
    usage_errors,
    with_bank,
    with_memory,
)
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.app import Memory, Settings
    from recollect.domain.banks import BankInfo


def banks(
    store: options.Store = None,
    drop: Annotated[
        str | None, typer.Option("--drop", metavar="NAME", help="Erase this bank and all its files.")
    ] = None,
    accept_losses: Annotated[
        str | None,
        typer.Option("--accept-losses", metavar="NAME", help="Accept what is missing from this bank."),
    ] = None,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """List the banks of a store, or erase one of them.

    A note on standard error says what is missing from a bank, or if it could be searched in a better way.

    The exit status is 1 if a bank cannot be read.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store)
    if drop is not None and accept_losses is not None:
        raise typer.BadParameter("give --drop or --accept-losses, and not both")
    if accept_losses is not None:
        with_bank(settings, accept_losses, lambda bank: bank.accept_losses())
        print_json({"accepted": accept_losses}) if json else print_line(f"accepted what bank {accept_losses} lacks")
        return
    if drop is None:
        _list(settings, as_json=json)
        return
    require_store(settings, drop)
    confirm(f"Erase bank {drop!r} of {settings.store} with all its files?", yes=yes)
    with_memory(settings, lambda memory: memory.drop(drop))
    print_json({"dropped": drop}) if json else print_line(f"erased bank {drop}")


def _list(settings: Settings, *, as_json: bool) -> None:
    from recollect.domain.codec import to_json

    found: list[BankInfo] = []
    broken: list[str] = []
    if Path(settings.store).exists():
        found, broken = with_memory(settings, _collect_infos)
    if as_json:
        print_json([to_json(info) for info in found])
    elif found:
        print_line(_format_table(found))
        for info in found:
            for note in info.notes:
                print_note(f"bank {info.name}: {note}")
    elif not broken:
        print_note(f"no banks in {settings.store}")
    for problem in broken:
        print_note(f"error: {problem}")
    if broken:
        raise typer.Exit(FAILED)


async def _collect_infos(memory: Memory) -> tuple[list[BankInfo], list[str]]:
    """Return the banks that can be read, and the problems of the others. One damaged file does not hide the other
    banks.
    """
    found: list[BankInfo] = []
    broken: list[str] = []
    for name in await memory.banks():
        try:
            found.append(await memory.info(name))
        except RecollectError as exc:
            broken.append(f"bank {name}: {exc}")
    return found, broken


def _format_table(found: list[BankInfo]) -> str:
    counted = ("messages", "sessions", "items", "segments", "entities", "links")
    head = ("bank", *counted, "first", "last", "embedder", "size")
    rows = [
        (
            info.name,
            f"{info.messages:,}",
            f"{info.sessions:,}",
            f"{info.items:,}",
            f"{info.segments:,}",
            f"{info.entities:,}",
            f"{info.links:,}",
            _format_day(info.first),
            _format_day(info.last),
            info.embedder,
            format_size(info.size_bytes),
        )
        for info in found
    ]
    return format_table([head, *rows], right=(1, 2, 3, 4, 5, 6, 10))


def _format_day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "-"
