"""``recollect retain``: a file or a stream of talk into a bank."""

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
from recollect.cli.lines import Place, opened_lines
from recollect.cli.output import count, remark, say, say_json
from recollect.cli.running import FAILED, chosen, has_model, usage, with_memory
from recollect.cli.times import zone_named
from recollect.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from recollect.app import Memory, Settings
    from recollect.domain.messages import Message
    from recollect.domain.receipts import RetainReceipt
    from recollect.formats import Format, Spoken

CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What was retained so far; ``failed`` is what went wrong in the background, where it was waited for."""

    messages: int = 0
    skipped: int = 0
    items: int = 0
    jobs: int = 0
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def read(self) -> int:
        return self.messages + self.skipped

    def plus(self, receipt: RetainReceipt) -> Tally:
        return Tally(
            messages=self.messages + len(receipt.messages),
            skipped=self.skipped + receipt.skipped,
            items=self.items + receipt.items,
            jobs=self.jobs + receipt.jobs,
            notes=tuple(dict.fromkeys((*self.notes, *receipt.notes))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What to read, and how."""

    file: str
    format: Format | None
    session: str | None
    zone: tzinfo
    important: bool
    wait: bool


class Stopped(RecollectError):
    """Retaining could not go on; what came before is kept."""


def retain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A transcript; - for standard input.")],
    store: options.Store = None,
    bank: options.Bank = "default",
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="jsonl, openai or chat; told from the input where left out."),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="Put everything into this session.")
    ] = None,
    zone: options.Zone = "UTC",
    recipe: options.Recipe = None,
    model: options.Model = None,
    important: Annotated[
        bool,
        typer.Option("--important", help="Pin every message: what waits until it comes up again is not left to wait."),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Do the recipe's background work too, instead of leaving it to a worker."),
    ] = False,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Keep the messages of a transcript, and make them findable.

    What is there already is skipped, so that a file that has grown can be given again. What a recipe makes of messages
    with a language model is left to "recollect worker"; with --wait it is done at once, and exit status 1 tells that
    some of it failed.
    """
    with usage():
        settings = chosen(store=store, embedder=embedder, recipe=recipe, model=model)
        wait = wait and _makes_jobs(settings)
        source = Input(
            file=file,
            format=_format(format_),
            session=session,
            zone=zone_named(zone),
            important=important,
            wait=wait,
        )
    began = time.perf_counter()
    tally = with_memory(settings, lambda memory: _retain(memory, bank, source))
    _report(tally, time.perf_counter() - began, bank, settings, as_json=json)
    if tally.failed:
        raise typer.Exit(FAILED)


def _makes_jobs(settings: Settings) -> bool:
    """Whether the recipe has work for the background, and a model for it, unless it can do without.

    Raises:
        InvalidInput: it has work, and cannot do without a model.
    """
    from recollect.app import recipe_of

    recipe = recipe_of(settings)
    if not recipe.consolidate:
        return False
    if has_model(settings):
        return True
    if recipe.queues:
        raise InvalidInput("--wait needs a language model: give --model, or set RECOLLECT_MODEL=PROVIDER:MODEL")
    return False


def chunks(spoken: Iterable[Spoken], size: int = CHUNK) -> Iterator[tuple[str, list[Message]]]:
    """Runs of messages of one session, at most ``size`` each; what comes before a damaged line is given first."""
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


async def _retain(memory: Memory, bank: str, source: Input) -> Tally:
    from recollect.formats import read

    with opened_lines(source.file) as (lines, place), _progress(place) as tell:
        opened = await memory.bank(bank)
        now = datetime.now(UTC)
        spoken = read(lines, format=source.format, session=source.session, zone=source.zone, now=now)
        given = map(_pinned, spoken) if source.important else spoken
        tally = await _keep(chunks(given), lambda name, said: opened.retain(said, session=name), tell)
        return replace(tally, failed=await opened.work()) if source.wait else _left(tally)


def _pinned(one: Spoken) -> Spoken:
    return replace(one, message=replace(one.message, important=True))


def _left(tally: Tally) -> Tally:
    """With a word on who does the jobs, where nothing is said of them yet."""
    if tally.notes or not tally.jobs:
        return tally
    return replace(tally, notes=('background work waits for "recollect worker"',))


async def _keep(
    given: Iterable[tuple[str, list[Message]]],
    keep: Callable[[str, list[Message]], Awaitable[RetainReceipt]],
    tell: Callable[[Tally], None],
) -> Tally:
    tally = Tally()
    try:
        for session, messages in given:
            tally = tally.plus(await keep(session, messages))
            tell(tally)
    except (KeyboardInterrupt, asyncio.CancelledError):
        remark(f"interrupted; {count(tally.read, 'message')} kept")
        raise
    except RecollectError as exc:
        verb = "is" if tally.read == 1 else "are"
        raise Stopped(f"{exc}; {count(tally.read, 'message')} before it {verb} kept") from exc
    return tally


@contextmanager
def _progress(place: Place | None) -> Iterator[Callable[[Tally], None]]:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda tally: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("0 messages", total=None)

        def tell(tally: Tally) -> None:
            done, total = place() if place else (0, None)
            bar.update(task, description=count(tally.read, "message"), completed=done, total=total)

        yield tell


def _report(tally: Tally, seconds: float, bank: str, settings: Settings, *, as_json: bool) -> None:
    rate = tally.read / seconds if seconds else 0.0
    if as_json:
        say_json(
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
    say(f"kept {count(tally.messages, 'message')}{there} in {where}, {seconds:.2f} s ({rate:,.0f} a second)")
    for note in (*tally.notes, *tally.failed):
        remark(note)


def _format(name: str | None) -> Format | None:
    from recollect.formats import Format

    try:
        return None if name is None else Format(name)
    except ValueError as exc:
        raise InvalidInput(f"{name!r} is no format; there are: {', '.join(Format)}") from exc
