"""What is rehearsed over the shipped sample: a recipe, who the agent is, and what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from recollect.domain.banks import Disposition, Profile
from recollect.errors import InvalidInput
from recollect.evals.dataset import Question
from recollect.recipes import Recipe, recipe_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A rehearsal.

    The first ``early`` sessions are kept and worked on before the others: ``reflected_early`` is asked in between,
    ``reflected_late`` in the end. ``questions`` are ids of the sample's; all of them where it is empty. ``more`` are
    put beside these.
    """

    recipe: Recipe
    profile: Profile | None = None
    early: int = 0
    reflected_early: tuple[str, ...] = ()
    reflected_late: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    more: tuple[Question, ...] = ()


IRIS: Final = Profile(
    name="Iris",
    background="I am Iris, the assistant in a chat between two old friends, Ada and Bram.",
    disposition=Disposition(skepticism=4, literalism=2, empathy=4, bias_strength=0.6),
)

TWELVE: Final = ("q06", "q15", "q17", "q22", "q25", "q31", "q40", "q43", "q47", "q49", "q60", "q65")
"""Questions of every category, that of the unanswerable included."""

_HINDSIGHT: Final = Plan(
    recipe=recipe_named("hindsight"),
    profile=IRIS,
    early=6,
    reflected_early=(
        "Is remote work good for Ada's team?",
        "Should Bram give up his job to bake on his own?",
        "Was adopting Toby a good decision for Ada?",
    ),
    reflected_late=("Is remote work good for Ada's team?", "Is opening a bakery the right thing for Bram?"),
)

PLANS: Final[Mapping[str, Plan]] = {"hindsight": _HINDSIGHT}


def plan_named(name: str) -> Plan:
    """The rehearsal of that name, which is also that of its recording.

    Raises:
        InvalidInput: there is none.
    """
    try:
        return PLANS[name]
    except KeyError:
        raise InvalidInput(f"no rehearsal {name!r}; there are: {', '.join(PLANS)}") from None
