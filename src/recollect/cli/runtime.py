"""How a command runs: settings, a memory, errors in one line, an exit status."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer.core import TyperGroup

from recollect.cli.output import make_printable, print_note
from recollect.errors import BankNotFound, InvalidInput, MalformedLine, RecollectError

if TYPE_CHECKING:
    from recollect.app import Memory, Settings
    from recollect.memory.bank import Bank

T = TypeVar("T")

FAILED = 1
NOTHING_FOUND = 3
INTERRUPTED = 130


class Commands(TyperGroup):
    """The commands; what they raise on purpose becomes one line on stderr."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RecollectError as exc:
            raise report_failure(str(exc)) from exc
        except ExceptionGroup as exc:  # of tasks that ran side by side
            known, others = exc.split(RecollectError)
            if known is None or others is not None:
                raise
            raise report_failure(str(_first_error(known))) from exc
        except OSError as exc:
            if exc.errno == errno.EPIPE:  # the reader of a pipe has seen enough
                raise
            raise report_failure(str(exc)) from exc
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def report_failure(message: str) -> typer.Exit:
    """Say what is wrong; gives what to raise."""
    print_note(f"error: {message}")
    return typer.Exit(FAILED)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Errors in here are the command line's, so that the exit status is 2."""
    try:
        yield
    except MalformedLine:
        raise
    except InvalidInput as exc:
        raise typer.BadParameter(str(exc)) from exc


def load_chosen_settings(
    *,
    store: str | None = None,
    embedder: str | None = None,
    reranker: str | None = None,
    recipe: str | None = None,
    arms: str | None = None,
    model: str | None = None,
) -> Settings:
    """What the environment says, and over it what the options say; checked.

    Raises:
        InvalidInput: a name is unknown.
    """
    from recollect.app import build_embedder, build_language_model, build_reranker, configure_recipe, load_settings
    from recollect.recall.settings import parse_arms

    given: dict[str, Any] = {"embedder": embedder, "reranker": reranker, "recipe": recipe, "model": model}
    settings = replace(
        load_settings(os.environ, store=store),
        arms=None if arms is None else parse_arms(arms),
        **{name: value for name, value in given.items() if value is not None},
    )
    build_embedder(settings.embedder, api_key=settings.api_key)
    build_reranker(settings.reranker, api_key=settings.api_key)
    build_language_model(settings)
    configure_recipe(settings)
    return settings


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, or to Ctrl-C.

    asyncio's own handler only cancels, which does nothing while a line of standard input is waited for.
    """
    here = threading.current_thread() is threading.main_thread()
    interruptible = here and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    async def main() -> T:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return await work

    return asyncio.run(main())


def with_memory(settings: Settings, work: Callable[[Memory], Awaitable[T]]) -> T:
    """Open the store, do the work, close it.

    Jobs that wait are left to ``recollect worker``: a command that ends in a moment must not begin one that a model is
    paid for, and cut it short.
    """

    async def main() -> T:
        async with await open_command_memory(settings, automatic=False) as memory:
            return await work(memory)

    return run(main())


async def open_command_memory(settings: Settings, *, automatic: bool) -> Memory:
    """The memory that the settings describe; ``automatic`` says whether it does waiting jobs by itself."""
    from recollect.app import open_memory
    from recollect.worker import WorkerSettings

    return await open_memory(settings, worker=WorkerSettings(automatic=automatic))


def has_model(settings: Settings) -> bool:
    """Whether a language model is configured, for some role at least."""
    named = (settings.model, *(spec.name for spec in settings.models.values()))
    return any(name not in (None, "none") for name in named)


def with_bank(settings: Settings, name: str, work: Callable[[Bank], Awaitable[T]]) -> T:
    """Open a bank that is there, do the work, close it.

    Raises:
        BankNotFound: there is none; no folder is made for asking.
    """

    async def main(memory: Memory) -> T:
        return await work(await memory.bank(name, create=False))

    require_store(settings, name)
    return with_memory(settings, main)


def require_store(settings: Settings, bank: str) -> None:
    """Refuse to look for a bank where there is no folder; opening the store would make it.

    Raises:
        BankNotFound: there is no folder.
    """
    if not Path(settings.store).exists():
        raise BankNotFound(f"no bank {bank!r}: there is no folder {settings.store}")


def confirm(question: str, *, yes: bool) -> None:
    """Ask, on a terminal; elsewhere nothing is erased without ``--yes``.

    Raises:
        typer.BadParameter: there is nobody to ask.
        typer.Abort: the answer was no.
    """
    if yes:
        return
    if not _is_terminal():
        raise typer.BadParameter("there is no terminal to ask for confirmation; give --yes")
    typer.confirm(make_printable(question), abort=True, err=True)


def _first_error(errors: ExceptionGroup[RecollectError]) -> Exception:
    first = errors.exceptions[0]
    return _first_error(first) if isinstance(first, ExceptionGroup) else first


def _is_terminal() -> bool:
    return sys.stdin.isatty()
