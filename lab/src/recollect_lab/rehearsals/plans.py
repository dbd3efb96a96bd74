"""The plans of rehearsals over the shipped sample: a recipe, the agent's profile, and the questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from recollect.domain.banks import Disposition, Profile
from recollect.errors import InvalidInput
from recollect.methods.emem.router import Router
from recollect.methods.emem.settings import RouteSettings
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.recmem.settings import ConsolidateSettings, Recurrence
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.recipes import Recipe, get_recipe
from recollect.retain.encode import EncodeSettings
from recollect.retain.segments import SegmentSettings
from recollect_lab.datasets.dataset import DatasetQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalPlan:
    """A plan for a rehearsal.

    The first ``early`` sessions are retained, and their background work is done, before the others. ``reflected_early``
    is asked between the two parts, and ``reflected_late`` at the end. ``questions`` are ids of questions of the sample.
    If it is empty, all are asked. ``more`` are additional questions. ``pinned`` are ids of messages that are retained
    as important.
    """

    recipe: Recipe
    profile: Profile | None = None
    early: int = 0
    reflected_early: tuple[str, ...] = ()
    reflected_late: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    more: tuple[DatasetQuestion, ...] = ()
    pinned: frozenset[str] = frozenset()


IRIS_PROFILE: Final = Profile(
    name="Iris",
    background="I am Iris, the assistant in a chat between two old friends, Ada and Bram.",
    disposition=Disposition(skepticism=4, literalism=2, empathy=4, bias_strength=0.6),
)

TWELVE_QUESTIONS: Final = ("q06", "q15", "q17", "q22", "q25", "q31", "q40", "q43", "q47", "q49", "q60", "q65")
"""Questions of every category, including unanswerable ones."""

_HINDSIGHT: Final = RehearsalPlan(
    recipe=get_recipe("hindsight"),
    profile=IRIS_PROFILE,
    early=6,
    reflected_early=(
        "Is remote work good for Ada's team?",
        "Should Bram give up his job to bake on his own?",
        "Was adopting Toby a good decision for Ada?",
    ),
    reflected_late=("Is remote work good for Ada's team?", "Is opening a bakery the right thing for Bram?"),
)

# The sample is short and varied, so almost nothing recurs at wordllama's threshold. A lower one shows consolidation.
_RECMEM: Final = RehearsalPlan(
    recipe=replace(
        get_recipe("recmem"),
        consolidate=(
            partial(
                UnitConsolidator, settings=ConsolidateSettings(recurrence=Recurrence(theta_sim=0.33, theta_count=3))
            ),
        ),
    ),
    questions=TWELVE_QUESTIONS,
    pinned=frozenset({"m033"}),
)

WHERE_AND_WHEN: Final = DatasetQuestion(
    id="d1",
    text="To which city is the relative moving whom Ada visited in May 2024?",
    at=datetime.fromisoformat("2024-07-20T12:00:00+01:00"),
    category="multi-hop",
    answer="Porto",
    evidence=("m136", "m168"),
    sessions=("2024-05-19", "2024-07-11"),
)
"""The case of E-mem's appendix D: one session has the time, and another has the place."""

# The sample is only as long as one usual segment. Shorter segments show the effect of routing.
_EMEM: Final = RehearsalPlan(
    recipe=replace(
        get_recipe("emem"),
        encode=partial(make_turn_encoder, settings=EncodeSettings(segments=SegmentSettings(length=1024, overlap=128))),
        retrieve=partial(Router, settings=RouteSettings(tau=4)),
    ),
    questions=TWELVE_QUESTIONS,
    more=(WHERE_AND_WHEN,),
)

PLANS: Final[Mapping[str, RehearsalPlan]] = {
    "hindsight": _HINDSIGHT,
    "remem": RehearsalPlan(recipe=get_recipe("remem"), questions=TWELVE_QUESTIONS),
    "remem_single": RehearsalPlan(recipe=get_recipe("remem_single"), questions=TWELVE_QUESTIONS),
    "memr3": RehearsalPlan(recipe=get_recipe("memr3"), questions=TWELVE_QUESTIONS),
    "emem": _EMEM,
    "recmem": _RECMEM,
    "default": RehearsalPlan(recipe=get_recipe("default"), questions=TWELVE_QUESTIONS),
}


def get_plan(name: str) -> RehearsalPlan:
    """Return the plan with this name. Its recording has the same name.

    Raises:
        InvalidInput: there is no plan with this name.
    """
    try:
        return PLANS[name]
    except KeyError:
        raise InvalidInput(f"no rehearsal {name!r}; there are: {', '.join(PLANS)}") from None
