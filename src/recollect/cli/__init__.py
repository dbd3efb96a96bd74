"""The command line. Each command imports its modules when it runs, so that ``--help`` is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.ask import ask, reflect
from recollect.cli.backup import backup, restore
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
    help="Long-term memory for language-model agents: it keeps every message, finds the right ones and needs no model.",
    epilog="Exit status: 0 done; 1 an error, described in one line; 2 wrong usage; 3 nothing found; 130 interrupted.",
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


app.command(short_help="Try recollect on a year of sample conversations.")(demo)
app.command(short_help="Store the messages of a transcript.")(retain)
app.command(short_help="Find evidence for a question in a bank.")(recall)
app.command(short_help="Answer a question with citations.")(ask)
app.command(short_help="Answer from the agent's profile, and form opinions.")(reflect)
app.command(short_help="List the opinions of a bank.")(opinions)
app.command(short_help="List the observations of a bank.")(observations)
app.command(short_help="Show or change the profile of a bank's agent.")(profile)
app.command(short_help="List, retry or drop background jobs.")(jobs)
app.command(short_help="Run background jobs until interrupted.")(worker)
app.command(short_help="Show what model calls have cost.")(costs)
app.command(short_help="Remove messages and everything derived from them.")(forget)
app.command(short_help="List the banks, or erase one.")(banks)
app.command(short_help="Write a whole bank as JSON Lines.")(export)
app.command("import", short_help="Read an export into a new bank.")(import_)
app.command(short_help="Copy a bank to a file, while others use it.")(backup)
app.command(short_help="Make a new bank from a backup.")(restore)
app.command(short_help="Embed every item of a bank again.")(rebuild)
app.command(short_help="List the available recipes.")(recipes)
app.command(short_help="Set how similar messages must be to recur.")(calibrate)
app.command(short_help="List merged names, or undo a merge.")(merges)
app.command("eval", short_help="Measure quality and cost (needs recollect-lab).", context_settings=ANY_ARGUMENTS)(eval_)
app.command("recordings", short_help="Manage recorded replies (needs recollect-lab).", context_settings=ANY_ARGUMENTS)(
    recordings
)
