"""The command ``recollect worker``: it does the background jobs of all banks in a store."""

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
"""Seconds between two searches of a worker for banks with due jobs."""


def worker(
    store: options.Store = None,
    bank: Annotated[
        list[str] | None, typer.Option("--bank", metavar="NAME", help="Work only on this bank. May be repeated.")
    ] = None,
    recipe: options.Recipe = None,
    model: options.Model = None,
    once: Annotated[bool, typer.Option("--once", help="Run all jobs, due or not, and stop.")] = False,
    embedder: options.Embedder = None,
) -> None:
    """Do the background jobs of the store's banks until interrupted. Banks that are added meanwhile are included.

    Several workers can run on one store at the same time, in several processes. Each job is done by one of them. With
    --once, the exit status is 1 if a job failed.
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
    """Raise InvalidInput if there would never be a job to do. An error is better than waiting for nothing."""
    from recollect.app import configure_recipe

    recipe = configure_recipe(settings)
    if not recipe.consolidate:
        raise InvalidInput(
            f"the recipe {recipe.name} has no background work. Choose another recipe, such as --recipe hindsight"
        )
    if not has_model(settings):
        raise InvalidInput("no language model is configured. Give --model, or set RECOLLECT_MODEL=PROVIDER:MODEL")


async def _run_once(settings: Settings, banks: tuple[str, ...]) -> list[str]:
    """Do all jobs, and return the errors, one line for each job that failed."""
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
    """Do jobs until a signal asks to stop. Then return unfinished jobs to the queue, and close the store."""
    stop = asyncio.Event()
    with suppress(NotImplementedError):  # if signal handlers are missing, Ctrl-C raises KeyboardInterrupt
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
    """Open each bank that has due jobs, which starts its worker. Return the names of the banks that were reported."""
    told = set[str]()
    for name in await memory.banks_with_jobs():
        if banks and name not in banks:
            continue
        news = f"working on bank {name}"
        try:
            await memory.bank(name, create=False)
        except BankNotFound:  # the bank was dropped meanwhile
            continue
        except RecollectError as exc:  # a bank that cannot be read must not keep the others waiting
            news = f"error: bank {name}: {exc}"
        if name not in known:
            print_note(news)
            told.add(name)
    return told
