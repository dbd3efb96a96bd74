"""The commands ``recollect opinions``, ``observations`` and ``profile``: a bank's beliefs, its summaries and its
agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from recollect.cli import options
from recollect.cli.answers import format_observation, format_opinion
from recollect.cli.output import flatten_line, indent_text, print_json, print_line, print_note
from recollect.cli.runtime import load_chosen_settings, require_store, usage_errors, with_bank, with_memory

if TYPE_CHECKING:
    from recollect.app import Memory
    from recollect.domain.banks import Profile

T = TypeVar("T")

Entity = Annotated[str | None, typer.Option("--entity", metavar="NAME", help="Only about this person, place or thing.")]


def _trait_option(low: str, high: str) -> Any:
    return typer.Option(min=1, max=5, metavar="1-5", help=f"From 1 ({low}) to 5 ({high}).")


def opinions(
    store: options.Store = None,
    bank: options.Bank = "default",
    entity: Entity = None,
    history: Annotated[
        bool, typer.Option("--history", help="Print every step of each opinion, with the ids of the evidence for it.")
    ] = False,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List the opinions of a bank with their confidence, from 0 to 1. The most recently changed opinion comes first."""
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    found = with_bank(settings, bank, lambda opened: opened.opinions(entity=entity))
    _list(found, partial(format_opinion, history=history), nothing=f"no opinions in bank {bank}", as_json=json)


def observations(
    store: options.Store = None,
    bank: options.Bank = "default",
    entity: Entity = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List the observations of a bank: neutral summaries of what is known about people, places and things."""
    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder)
    found = with_bank(settings, bank, lambda opened: opened.observations(entity=entity))
    _list(found, format_observation, nothing=f"no observations in bank {bank}", as_json=json)


def _list(found: Sequence[T], block: Callable[[T], str], *, nothing: str, as_json: bool) -> None:
    """Print the values that were found, as JSON or as one block each. If there are none, print the text ``nothing``."""
    from recollect.domain.codec import to_json

    if as_json:
        print_json([to_json(one) for one in found])
        return
    for one in found:
        print_line(block(one))
    if not found:
        print_note(nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEdit:
    """A change of a profile.

    ``fields`` are new values of its fields. ``traits`` are new values of its disposition. ``addition`` is a text to
    merge into its background.
    """

    fields: dict[str, Any]
    traits: dict[str, Any]
    addition: str | None

    @property
    def is_empty(self) -> bool:
        return not self.fields and not self.traits and self.addition is None

    def apply_to(self, profile: Profile) -> Profile:
        """Return the profile with the new values. The text of ``addition`` is not merged yet."""
        return replace(profile, **self.fields, disposition=replace(profile.disposition, **self.traits))


def profile(
    store: options.Store = None,
    bank: options.Bank = "default",
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The name of the agent.")] = None,
    background: Annotated[
        str | None,
        typer.Option(
            "--background", metavar="TEXT", help="Replace the agent's background with this text, in the first person."
        ),
    ] = None,
    add: Annotated[
        str | None,
        typer.Option(
            "--add",
            metavar="TEXT",
            help="Merge this text into the background. Needs a language model if there is a background already.",
        ),
    ] = None,
    skepticism: Annotated[int | None, _trait_option("trusting", "skeptical")] = None,
    literalism: Annotated[int | None, _trait_option("flexible", "literal")] = None,
    empathy: Annotated[int | None, _trait_option("detached", "empathetic")] = None,
    bias_strength: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="0-1",
            help="How strongly skepticism, literalism and empathy influence conclusions.",
        ),
    ] = None,
    model: options.Model = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Show the profile of a bank's agent, or change it. A change creates the bank if it does not exist."""
    from recollect.domain.codec import to_json

    with usage_errors():
        settings = load_chosen_settings(store=store, embedder=embedder, model=model)
    edit = ProfileEdit(
        fields=_drop_missing(name=name, background=background),
        traits=_drop_missing(
            skepticism=skepticism, literalism=literalism, empathy=empathy, bias_strength=bias_strength
        ),
        addition=add,
    )
    if edit.is_empty:
        require_store(settings, bank)
    found = with_memory(settings, lambda memory: _apply_edit(memory, bank, edit))
    print_json(to_json(found)) if json else print_line(_format_profile(found))


async def _apply_edit(memory: Memory, bank: str, edit: ProfileEdit) -> Profile:
    opened = await memory.bank(bank, create=not edit.is_empty)
    with usage_errors():  # the profile refuses a blank name
        before = await opened.profile()
        after = edit.apply_to(before)
    if after != before:
        await opened.set_profile(after)
    if edit.addition is None:
        return after
    with usage_errors():  # the bank refuses a blank text
        return await opened.add_background(edit.addition)


def _drop_missing(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _format_profile(profile: Profile) -> str:
    traits = profile.disposition
    background = indent_text(profile.background or "no background yet", "   ", fold=True)
    return (
        f"{flatten_line(profile.name)}: skepticism {traits.skepticism}, literalism {traits.literalism}, "
        f"empathy {traits.empathy}, bias strength {traits.bias_strength:g}\n{background}"
    )
