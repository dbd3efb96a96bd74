"""The command ``recollect retain``: it stores the messages of a file or a stream in a bank."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.line_input import ReadPosition, open_lines
from recollect.cli.output import format_count, print_json, print_line, print_note
from recollect.cli.runtime import FAILED, has_model, load_chosen_settings, usage_errors, with_memory
from recollect.cli.times import parse_zone
from recollect.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from recollect.app import Memory, Settings
    from recollect.domain.messages import Message
    from recollect.domain.receipts import RetainReceipt
    from recollect.formats import Format, SessionMessage

CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainProgress:
    """The counts of what was retained so far. ``failed`` are the errors of background jobs, if the command waited for
    them.
    """

    messages: int = 0
    skipped: int = 0
    items: int = 0
    jobs: int = 0
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def messages_read(self) -> int:
        return self.messages + self.skipped

    def add_receipt(self, receipt: RetainReceipt) -> RetainProgress:
        return RetainProgress(
            messages=self.messages + len(receipt.messages),
            skipped=self.skipped + receipt.skipped,
            items=self.items + receipt.items,
            jobs=self.jobs + receipt.jobs,
            notes=tuple(dict.fromkeys((*self.notes, *receipt.notes))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainInput:
    """The input to read, and how to read it."""

    file: str
    format: Format | None
    session: str | None
    zone: tzinfo
    important: bool
    wait: bool


class RetainStopped(RecollectError):
    """Retaining could not continue. The messages before the error are stored."""


def retain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The transcript to read, or - for standard input.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help="The format: jsonl, openai or chat. Default: detected from the input."
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="Store all messages in this session.")
    ] = None,
    zone: options.Zone = "UTC",
    recipe: options.Recipe = None,
    model: options.Model = None,
    important: Annotated[
        bool,
        typer.Option(
            "--important", help="Pin every message, so that recipes process it without waiting for a recurrence."
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Also run the recipe's background jobs, instead of leaving them to a worker."),
    ] = False,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Store the messages of a transcript, so that they can be found.

    Messages that are in the bank already are skipped. So you can give a file again after it has grown. If a recipe
    needs a language model for a part of its work, that part is left to "recollect worker". With --wait it is done at
    once, and the exit status is 1 if some of it failed.
    """
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, recipe=recipe, model=model)
        wait = wait and _has_background_work(settings)
        source = RetainInput(
            file=file,
            format=_parse_format(format_),
            session=session,
            zone=parse_zone(zone),
            important=important,
            wait=wait,
        )
    began = time.perf_counter()
    tally = with_memory(settings, lambda memory: _retain(memory, bank, source))
    _print_report(tally, time.perf_counter() - began, bank, settings, as_json=json)
    if tally.failed:
        raise typer.Exit(FAILED)


def _has_background_work(settings: Settings) -> bool:
    """Return true if the recipe has background work, and a model is configured for it.

    Without a model, return false if the recipe can do without that work.

    Raises:
        InvalidInput: the recipe has background work and needs a model for it, but no model is configured.
    """
    from recollect.app import configure_recipe

    recipe = configure_recipe(settings)
    if not recipe.consolidate:
        return False
    if has_model(settings):
        return True
    if recipe.has_background_work:
        raise InvalidInput("--wait needs a language model. Give --model, or set RECOLLECT_MODEL=PROVIDER:MODEL")
    return False


def chunk_messages(spoken: Iterable[SessionMessage], size: int = CHUNK) -> Iterator[tuple[str, list[Message]]]:
    """Yield runs of messages of one session, at most ``size`` messages each.

    If a line is damaged, the messages before it are yielded before the error is raised.
    """
    session, pending = "", list["Message"]()
    try:
        for one in spoken:
            if pending and (one.session != session or len(pending) == size):
                yield session, pending
                pending = []
            session = one.session
            pending.append(one.message)
    except RecollectError:
        if pending:
            yield session, pending
        raise
    if pending:
        yield session, pending


async def _retain(memory: Memory, bank: str, source: RetainInput) -> RetainProgress:
    from recollect.formats import read_messages

    with open_lines(source.file) as (lines, place), _progress(place) as tell:
        opened = await memory.bank(bank)
        now = datetime.now(UTC)
        spoken = read_messages(lines, format=source.format, session=source.session, zone=source.zone, now=now)
        given = map(_pin_message, spoken) if source.important else spoken
        tally = await _retain_chunks(chunk_messages(given), lambda name, said: opened.retain(said, session=name), tell)
        return replace(tally, failed=await opened.run_jobs()) if source.wait else _add_job_note(tally)


def _pin_message(one: SessionMessage) -> SessionMessage:
    return replace(one, message=replace(one.message, important=True))


def _add_job_note(tally: RetainProgress) -> RetainProgress:
    """Add a note that a worker does the jobs, if no other note explains the jobs."""
    if tally.notes or not tally.jobs:
        return tally
    return replace(tally, notes=('background work waits for "recollect worker"',))


async def _retain_chunks(
    chunked: Iterable[tuple[str, list[Message]]],
    retain: Callable[[str, list[Message]], Awaitable[RetainReceipt]],
    report: Callable[[RetainProgress], None],
) -> RetainProgress:
    tally = RetainProgress()
    try:
        for session, messages in chunked:
            tally = tally.add_receipt(await retain(session, messages))
            report(tally)
    except (KeyboardInterrupt, asyncio.CancelledError):
        print_note(f"interrupted; {format_count(tally.messages_read, 'message')} kept")
        raise
    except RecollectError as exc:
        verb = "is" if tally.messages_read == 1 else "are"
        raise RetainStopped(f"{exc}; {format_count(tally.messages_read, 'message')} before it {verb} kept") from exc
    return tally


@contextmanager
def _progress(place: ReadPosition | None) -> Iterator[Callable[[RetainProgress], None]]:
    """Show a progress bar on stderr, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda tally: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("0 messages", total=None)

        def tell(tally: RetainProgress) -> None:
            done, total = place() if place else (0, None)
            bar.update(task, description=format_count(tally.messages_read, "message"), completed=done, total=total)

        yield tell


def _print_report(tally: RetainProgress, seconds: float, bank: str, settings: Settings, *, as_json: bool) -> None:
    rate = tally.messages_read / seconds if seconds else 0.0
    if as_json:
        print_json(
            {
                "bank": bank,
                "messages": tally.messages,
                "skipped": tally.skipped,
                "items": tally.items,
                "jobs": tally.jobs,
                "notes": tally.notes,
                "failed": tally.failed,
                "seconds": seconds,
                "per_second": rate,
            }
        )
        return
    there = f" ({tally.skipped:,} there already)" if tally.skipped else ""
    where = f"bank {bank} of {settings.store}"
    print_line(
        f"kept {format_count(tally.messages, 'message')}{there} in {where}, {seconds:.2f} s ({rate:,.0f} a second)"
    )
    for note in (*tally.notes, *tally.failed):
        print_note(note)


def _parse_format(name: str | None) -> Format | None:
    from recollect.formats import Format

    try:
        return None if name is None else Format(name)
    except ValueError as exc:
        raise InvalidInput(f"{name!r} is not a format. The formats are: {', '.join(Format)}") from exc
