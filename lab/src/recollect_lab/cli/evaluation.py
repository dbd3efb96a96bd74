"""The command group ``recollect eval``. Each command imports its modules when it runs."""

from __future__ import annotations

import typer

from recollect_lab.cli.eval_cost import cost
from recollect_lab.cli.evaluate import retrieval

app = typer.Typer(
    help="Measure quality and cost on data with known answers.", rich_markup_mode=None, no_args_is_help=True
)
app.command(short_help="Measure how much of the known evidence is found.")(retrieval)
app.command(short_help="Measure the cost of building memory.")(cost)
