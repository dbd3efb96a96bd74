"""``recollect opinions``, ``observations`` and ``profile``: what a bank believes, what it has summed up, who it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from recollect.cli import options
from recollect.cli.answers import observation_block, opinion_block
from recollect.cli.output import indented, one_line, remark, say, say_json
from recollect.cli.running import chosen, require_store, usage, with_bank, with_memory

if TYPE_CHECKING:
    from recollect.app import Memory
    from recollect.domain.banks import Profile

T = TypeVar("T")

Entity = Annotated[str | None, typer.Option("--entity", metavar="NAME", help="Only on this person, place or thing.")]


def _trait(low: str, high: str) -> Any:
    return typer.Option(min=1, max=5, metavar="1-5", help=f"From 1, {low}, to 5, {high}.")


def opinions(
    store: options.Store = None,
    bank: options.Bank = "default",
    entity: Entity = None,
    history: Annotated[
        bool, typer.Option("--history", help="Print every step, with the ids of what moved it.")
    ] = False,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List what a bank believes and how firmly, from 0 to 1; what moved last comes first."""
    with usage():
        settings = chosen(store=store, embedder=embedder)
    found = with_bank(settings, bank, lambda opened: opened.opinions(entity=entity))
    _list(found, partial(opinion_block, history=history), nothing=f"no opinions in bank {bank}", as_json=json)


def observations(
    store: options.Store = None,
    bank: options.Bank = "default",
    entity: Entity = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """List the neutral summaries of what is known of people, places and things."""
    with usage():
        settings = chosen(store=store, embedder=embedder)
    found = with_bank(settings, bank, lambda opened: opened.observations(entity=entity))
    _list(found, observation_block, nothing=f"no observations in bank {bank}", as_json=json)


def _list(found: Sequence[T], block: Callable[[T], str], *, nothing: str, as_json: bool) -> None:
    """Print what was found, as JSON or a block each; say so where it is ``nothing``."""
    from recollect.domain.codec import to_json

    if as_json:
        say_json([to_json(one) for one in found])
        return
    for one in found:
        say(block(one))
    if not found:
        remark(nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is said anew of a profile, by the names of its fields; ``add`` is merged into the background."""

    told: dict[str, Any]
    traits: dict[str, Any]
    add: str | None

    @property
    def empty(self) -> bool:
        return not self.told and not self.traits and self.add is None

    def over(self, profile: Profile) -> Profile:
        """The profile with what is said anew; what is to be merged in is not in it yet."""
        return replace(profile, **self.told, disposition=replace(profile.disposition, **self.traits))


def profile(
    store: options.Store = None,
    bank: options.Bank = "default",
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What the agent is called.")] = None,
    background: Annotated[
        str | None,
        typer.Option("--background", metavar="TEXT", help="Who it is, in the first person, instead of what was there."),
    ] = None,
    add: Annotated[
        str | None,
        typer.Option("--add", metavar="TEXT", help="Merge this into the background, with a model where there is one."),
    ] = None,
    skepticism: Annotated[int | None, _trait("trusting", "skeptical")] = None,
    literalism: Annotated[int | None, _trait("flexible", "literal")] = None,
    empathy: Annotated[int | None, _trait("detached", "empathetic")] = None,
    bias_strength: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, metavar="0-1", help="How strongly these shape what is concluded."),
    ] = None,
    model: options.Model = None,
    embedder: options.Embedder = None,
    json: options.Json = False,
) -> None:
    """Show who a bank's agent is, or say it. Saying it makes the bank, if there is none yet."""
    from recollect.domain.codec import to_json

    with usage():
        settings = chosen(store=store, embedder=embedder, model=model)
    edit = Edit(
        told=_given(name=name, background=background),
        traits=_given(skepticism=skepticism, literalism=literalism, empathy=empathy, bias_strength=bias_strength),
        add=add,
    )
    if edit.empty:
        require_store(settings, bank)
    found = with_memory(settings, lambda memory: _edited(memory, bank, edit))
    say_json(to_json(found)) if json else say(_shown(found))


async def _edited(memory: Memory, bank: str, edit: Edit) -> Profile:
    opened = await memory.bank(bank, create=not edit.empty)
    with usage():  # a blank name
        before = await opened.profile()
        after = edit.over(before)
    if after != before:
        await opened.set_profile(after)
    if edit.add is None:
        return after
    with usage():  # a blank text
        return await opened.add_background(edit.add)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _shown(profile: Profile) -> str:
    traits = profile.disposition
    background = indented(profile.background or "no background yet", "   ", fold=True)
    return (
        f"{one_line(profile.name)}: skepticism {traits.skepticism}, literalism {traits.literalism}, "
        f"empathy {traits.empathy}, bias strength {traits.bias_strength:g}\n{background}"
    )
