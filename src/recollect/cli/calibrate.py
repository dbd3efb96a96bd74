"""The command ``recollect calibrate``: it sets how similar messages must be to count as recurring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import options
from recollect.cli.output import format_count, print_json, print_line
from recollect.cli.runtime import load_chosen_settings, usage_errors, with_bank

if TYPE_CHECKING:
    from recollect.domain.calibration import Calibration
    from recollect.memory.bank import Bank


def calibrate(
    store: options.Store = None,
    bank: options.Bank = "default",
    share: Annotated[
        float, typer.Option(metavar="0-1", help="The share of messages that should count as recurring.")
    ] = 0.05,
    theta_count: Annotated[
        int, typer.Option(metavar="N", help="How many similar earlier messages make a message recur.")
    ] = 5,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the new threshold, and do not store it.")
    ] = False,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Set the similarity threshold of the recipe recmem for the bank's embedder, measured on the bank's own
    messages.
    """
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)

    async def work(opened: Bank) -> Calibration:
        with usage_errors():  # the bank refuses a share such as 2
            return await opened.calibrate(share=share, theta_count=theta_count, apply=not dry_run)

    found = with_bank(settings, bank, work)
    print_json(to_json(found)) if json else print_line(_format_calibration(found, bank))


def _format_calibration(found: Calibration, bank: str) -> str:
    quantiles = ", ".join(f"{one.share * 100:g} % at most {one.similarity:.3f}" for one in found.quantiles)
    what = "stored" if found.stored else "not stored (--dry-run)"
    return "\n".join(
        (
            f"{format_count(found.units, 'unit')} of bank {bank}, embedder {found.embedder}",
            f"cosine with number {found.theta_count} of the nearest earlier units: {quantiles}",
            f"theta_sim: {found.before:.3f} so far ({_format_percent(found.share_before)} of units recur), "
            f"{found.after:.3f} now ({_format_percent(found.share_after)}); {what}",
        )
    )


def _format_percent(share: float) -> str:
    return f"{share * 100:.1f} %"
