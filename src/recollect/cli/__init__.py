"""The command line. Each command imports what it needs when it runs, so that ``--help`` is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.ask import ask, reflect
from recollect.cli.banks import banks
from recollect.cli.calibrate import calibrate
from recollect.cli.demo import demo
from recollect.cli.export import export
from recollect.cli.forget import forget
from recollect.cli.import_ import import_
from recollect.cli.jobs import costs, jobs
from recollect.cli.laboratory import eval_, recordings
from recollect.cli.merges import merges
from recollect.cli.plugins import ANY_ARGUMENTS, ExtensibleCommands
from recollect.cli.profile_commands import observations, opinions, profile
from recollect.cli.rebuild import rebuild
from recollect.cli.recall import recall
from recollect.cli.recipes import recipes
from recollect.cli.retain import retain
from recollect.cli.worker import worker

app = typer.Typer(
    cls=ExtensibleCommands,
    help="Long-term memory for language-model agents: keeps every word, finds the right ones, needs no model.",
    epilog="Exit status: 0 done; 1 an error, told in one line; 2 wrong usage; 3 nothing found; 130 interrupted.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from recollect import __version__

        typer.echo(f"recollect {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


app.command(short_help="See it work on a year of sample talk.")(demo)
app.command(short_help="Keep the messages of a transcript.")(retain)
app.command(short_help="Find what a bank holds on a question.")(recall)
app.command(short_help="Answer a question, with citations.")(ask)
app.command(short_help="Answer as who the agent is, and form opinions.")(reflect)
app.command(short_help="List what a bank believes.")(opinions)
app.command(short_help="List what a bank has summed up.")(observations)
app.command(short_help="See or say who a bank's agent is.")(profile)
app.command(short_help="List, retry or drop background work.")(jobs)
app.command(short_help="Do background work until interrupted.")(worker)
app.command(short_help="Show what model calls have cost.")(costs)
app.command(short_help="Remove messages and all that was made of them.")(forget)
app.command(short_help="List the banks, or erase one.")(banks)
app.command(short_help="Write a whole bank as JSON Lines.")(export)
app.command("import", short_help="Take an export into a new bank.")(import_)
app.command(short_help="Embed every item of a bank anew.")(rebuild)
app.command(short_help="List the recipes there are.")(recipes)
app.command(short_help="Set how like messages must be to recur.")(calibrate)
app.command(short_help="See which names were taken for one, and undo it.")(merges)
app.command("eval", short_help="Measure (needs recollect-lab).", context_settings=ANY_ARGUMENTS)(eval_)
app.command("recordings", short_help="Recorded replies (needs recollect-lab).", context_settings=ANY_ARGUMENTS)(
    recordings
)
