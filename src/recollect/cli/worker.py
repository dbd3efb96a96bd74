"""``recollect worker``: does the background work of a store's banks."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import print_note
from recollect.cli.runtime import FAILED, has_model, load_chosen_settings, open_command_memory, run, usage_errors
from recollect.errors import BankNotFound, InvalidInput, RecollectError

if TYPE_CHECKING:
    from collections.abc import Collection

    from recollect.app import Memory, Settings

BANK_POLL_S = 2.0
"""How often a worker looks for banks with jobs that are due."""


def worker(
    store: options.Store = None,
    bank: Annotated[
        list[str] | None, typer.Option("--bank", metavar="NAME", help="Only this bank; may be repeated.")
    ] = None,
    recipe: options.Recipe = None,
    model: options.Model = None,
    once: Annotated[bool, typer.Option("--once", help="Do all there is, due or not, and stop.")] = False,
    embedder: options.Embedder = None,
) -> None:
    """Do the background work of the store's banks, those included that come later, until interrupted.

    Several may run at once, on one store, in as many processes: a job is done by one of them. With --once, exit status
    1 where some of it failed.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, recipe=recipe, model=model)
        _require_work(settings)
    wanted = tuple(bank or ())
    errors = run(_run_once(settings, wanted)) if once else run(_run_until_stopped(settings, wanted))
    for error in errors:
        print_note(error)
    if errors:
        raise typer.Exit(FAILED)


def _require_work(settings: Settings) -> None:
    """Raises InvalidInput where there would never be anything to do: better said than waited for."""
    from recollect.app import configure_recipe

    recipe = configure_recipe(settings)
    if not recipe.consolidate:
        raise InvalidInput(f"the recipe {recipe.name} has no background work; give another, such as --recipe hindsight")
    if not has_model(settings):
        raise InvalidInput("no language model is configured: give --model, or set RECOLLECT_MODEL=PROVIDER:MODEL")


async def _run_once(settings: Settings, banks: tuple[str, ...]) -> list[str]:
    """Do everything; gives what went wrong, a line a job."""
    async with await open_command_memory(settings, automatic=False) as memory:
        errors: list[str] = []
        for name in banks or await memory.banks_with_jobs(due=False):
            try:
                told = await (await memory.bank(name, create=False)).run_jobs()
            except RecollectError as exc:  # a bank that cannot be read must not keep the others waiting
                told = (str(exc),)
            errors += [f"bank {name}: {error}" for error in told]
        return errors


async def _run_until_stopped(settings: Settings, banks: tuple[str, ...]) -> list[str]:
    """Work until told to stop: then what is being done is put back, and the store closed."""
    stop = asyncio.Event()
    with suppress(NotImplementedError):  # where there are no such signals, Ctrl-C interrupts as it does elsewhere
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with await open_command_memory(settings, automatic=True) as memory:
        wanted = {(await memory.bank(name, create=False)).name for name in banks}
        known: set[str] = set()
        while not stop.is_set():
            known |= await _open_banks(memory, wanted, known)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), BANK_POLL_S)
    return []


async def _open_banks(memory: Memory, banks: Collection[str], known: set[str]) -> set[str]:
    """Open each bank with jobs that are due, which sets its worker going; return the names of those told of."""
    told = set[str]()
    for name in await memory.banks_with_jobs():
        if banks and name not in banks:
            continue
        news = f"working on bank {name}"
        try:
            await memory.bank(name, create=False)
        except BankNotFound:  # dropped meanwhile
            continue
        except RecollectError as exc:  # a bank that cannot be read must not keep the others waiting
            news = f"error: bank {name}: {exc}"
        if name not in known:
            print_note(news)
            told.add(name)
    return told
