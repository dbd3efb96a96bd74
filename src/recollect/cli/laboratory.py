"""Stand in for the commands of the laboratory if the package ``recollect-lab`` is not installed."""

from __future__ import annotations

import typer

from recollect.cli.output import print_note

WRONG_USAGE = 2


def eval_() -> None:
    """Measure quality and cost on data with known answers.

    This command comes with the laboratory: pip install recollect-lab
    """
    raise report_missing_laboratory("recollect eval")


def recordings() -> None:
    """List, check and record replies of language models.

    This command comes with the laboratory: pip install recollect-lab
    """
    raise report_missing_laboratory("recollect recordings")


def report_missing_laboratory(what: str) -> typer.Exit:
    """Report that the laboratory is missing, and return the exception to raise."""
    print_note(f"error: {what} needs the laboratory; run: pip install recollect-lab")
    return typer.Exit(WRONG_USAGE)
