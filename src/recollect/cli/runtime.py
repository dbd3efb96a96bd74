"""Run commands: read the settings, open a memory, report errors in one line, and set the exit status."""

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
from typer.exceptions import TyperException

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
    """The commands. Their deliberate errors become one line on stderr."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RecollectError as exc:
            raise report_failure(str(exc)) from exc
        except ExceptionGroup as exc:  # errors of tasks that ran at the same time
            known, others = exc.split(RecollectError)
            if known is None or others is not None:
                raise report_mistake(exc) from exc
            raise report_failure(str(_first_error(known))) from exc
        except OSError as exc:
            if exc.errno == errno.EPIPE:  # the reader of a pipe has stopped reading
                raise
            raise report_failure(str(exc)) from exc
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort, TyperException):  # wrong usage, an exit status, an interruption
            raise
        except Exception as exc:
            raise report_mistake(exc) from exc


def report_failure(message: str) -> typer.Exit:
    """Report an error, and return the exception to raise."""
    print_note(f"error: {message}")
    return typer.Exit(FAILED)


def report_mistake(exc: Exception) -> Exception:
    """Report an error that no code expects in one line, and return the exception to raise.

    With ``RECOLLECT_TRACEBACK=1`` in the environment, it is the error itself.
    """
    if os.environ.get("RECOLLECT_TRACEBACK"):
        return exc
    return report_failure(
        f"this is a mistake in recollect, please report it: {type(exc).__name__}: {exc}. "
        "RECOLLECT_TRACEBACK=1 shows where it happened"
    )


@contextmanager
def usage_errors() -> Iterator[None]:
    """Treat errors in this context as errors of the command line, so that the exit status is 2."""
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
    """Return the settings from the environment, replaced by the given options, and check them.

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
    """Run the coroutine to its end, or until Ctrl-C.

    asyncio's own handler only cancels the task. This has no effect while the command waits for a line of standard
    input.
    """
    here = threading.current_thread() is threading.main_thread()
    interruptible = here and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    async def main() -> T:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return await work

    return asyncio.run(main())


def with_memory(settings: Settings, work: Callable[[Memory], Awaitable[T]]) -> T:
    """Open the store, do the work, and close the store.

    Waiting jobs are left to ``recollect worker``. A command that ends soon must not start a job with a paid model and
    then break it off.
    """

    async def main() -> T:
        async with await open_command_memory(settings, automatic=False) as memory:
            return await work(memory)

    return run(main())


async def open_command_memory(settings: Settings, *, automatic: bool) -> Memory:
    """Return the memory for the settings. If ``automatic`` is true, it does waiting jobs by itself."""
    from recollect.app import open_memory
    from recollect.worker import WorkerSettings

    return await open_memory(settings, worker=WorkerSettings(automatic=automatic))


def has_model(settings: Settings) -> bool:
    """Return true if a language model is configured for at least one role."""
    named = (settings.model, *(spec.name for spec in settings.models.values()))
    return any(name not in (None, "none") for name in named)


def with_bank(settings: Settings, name: str, work: Callable[[Bank], Awaitable[T]]) -> T:
    """Open an existing bank, do the work, and close it.

    Raises:
        BankNotFound: there is no such bank. No folder is created for it.
    """

    async def main(memory: Memory) -> T:
        return await work(await memory.bank(name, create=False))

    require_store(settings, name)
    return with_memory(settings, main)


def require_store(settings: Settings, bank: str) -> None:
    """Check that the store's folder exists, because opening the store would create it.

    Raises:
        BankNotFound: there is no folder.
    """
    if not Path(settings.store).exists():
        raise BankNotFound(f"no bank {bank!r}: there is no folder {settings.store}")


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation in a terminal. Without a terminal, nothing is erased unless ``--yes`` is given.

    Raises:
        typer.BadParameter: there is no terminal to ask in.
        typer.Abort: the answer was no.
    """
    if yes:
        return
    if not _is_terminal():
        raise typer.BadParameter("there is no terminal to ask for confirmation. Give --yes")
    typer.confirm(make_printable(question), abort=True, err=True)


def _first_error(errors: ExceptionGroup[RecollectError]) -> Exception:
    first = errors.exceptions[0]
    return _first_error(first) if isinstance(first, ExceptionGroup) else first


def _is_terminal() -> bool:
    return sys.stdin.isatty()
