"""Making memory of a conversation, by a recipe or by eager extraction, with a model that only costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Protocol

from recollect.app import Memory
from recollect.domain.codec import from_json
from recollect.domain.items import Item, ItemKind
from recollect.domain.usage import Usage
from recollect.errors import InvalidInput
from recollect.memory.bank import Bank
from recollect.methods.dependencies import Factory
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.recmem.settings import CASUAL, RECURRENCE, ConsolidateSettings, Recurrence
from recollect.models.embedder import Embedder
from recollect.ports import Consolidator
from recollect.recipes import Recipe, get_recipe
from recollect.worker import WorkerSettings
from recollect_lab.cost import eager
from recollect_lab.cost.eager import extract_all
from recollect_lab.cost.stub import StubModel
from recollect_lab.datasets.dataset import DatasetConversation, DatasetSession
from recollect_lab.manual_clock import ManualClock

EAGER = "eager"
DEFAULT_SYSTEMS = ("recmem", "recmem@3", "recmem@4", "recmem@5", "recmem@6", EAGER, "remem", "hindsight")
"""What is compared where nothing is chosen; ``recmem@N`` is the recipe with theta_count N."""

SETTLE_TIME = timedelta(hours=1)
"""How long after a session began the background work on it is done: before the next one is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """What became of one conversation.

    ``operations`` are what the calls cost, by what they were made for; ``items`` what was made, what was superseded
    included; ``problems`` what went wrong, a line a job.
    """

    operations: Mapping[str, Usage]
    items: tuple[Item, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage:
        return sum(self.operations.values(), start=Usage())


class CostSystem(Protocol):
    """A way to make memory. ``recurrence`` is what it waits for, where it waits for something."""

    @property
    def name(self) -> str: ...

    @property
    def recurrence(self) -> Recurrence | None: ...

    async def construct(self, conversation: DatasetConversation, embedder: Embedder) -> Construction: ...


@dataclass(frozen=True, slots=True)
class EagerSystem:
    """One call a pair of messages (:mod:`recollect_lab.cost.eager`)."""

    name: str = EAGER
    recurrence: Recurrence | None = None

    async def construct(self, conversation: DatasetConversation, embedder: Embedder) -> Construction:
        """Read every pair.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        usage, _ = await extract_all(conversation, embedder, StubModel())
        return Construction(operations={eager.OPERATION: usage})


@dataclass(frozen=True, slots=True)
class RecipeSystem:
    """What a recipe makes in the background, after each session."""

    name: str
    recipe: Recipe
    recurrence: Recurrence | None = None

    async def construct(self, conversation: DatasetConversation, embedder: Embedder) -> Construction:
        """Keep session after session, and have all work done that each of them causes.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        if not conversation.sessions:
            return Construction(operations={})
        clock = ManualClock(conversation.sessions[0].at)
        async with Memory.open(
            ":memory:",
            embedder=embedder,
            recipe=self.recipe,
            model=StubModel(),
            limits={},
            worker=WorkerSettings(concurrency=1, automatic=False),
            clock=clock,
        ) as memory:
            bank = await memory.bank("conversation")
            problems = [
                line for session in conversation.sessions for line in await _retain_session(bank, session, clock)
            ]
            costs = {cost.operation: cost.usage for cost in await bank.costs()}
            return Construction(operations=costs, items=await _load_items(bank), problems=tuple(problems))


async def _retain_session(bank: Bank, session: DatasetSession, clock: ManualClock) -> tuple[str, ...]:
    clock.set(session.at + SETTLE_TIME)
    await bank.retain(session.messages, session=session.id)
    return await bank.run_jobs()


async def _load_items(bank: Bank) -> tuple[Item, ...]:
    """All that was made of the messages, turns aside: what holds and what was superseded."""
    lines = [json.loads(line) async for line in bank.export()]
    items = (from_json(Item, line["item"]) for line in lines if line["type"] == "item")
    return tuple(item for item in items if item.kind is not ItemKind.TURN)


def build_system(name: str, embedder: Embedder, *, theta_sim: float | None = None) -> CostSystem:
    """A system by its name: ``eager``, a recipe's, or a recipe's with ``@`` and the theta_count of its recurrence.

    Args:
        name: what to build.
        embedder: whose thresholds recurrence goes by.
        theta_sim: the threshold of recurrence instead.

    Raises:
        InvalidInput: there is no such recipe, it waits for no recurrence, or the number is none.
    """
    if name == EAGER:
        return EagerSystem()
    known, mark, count = name.partition("@")
    recipe = get_recipe(known)
    recurrence = _choose_recurrence(recipe, embedder)
    if recurrence is None:
        if mark:
            raise InvalidInput(f"{name!r}: the recipe {known} waits for no recurrence, so that it has no theta_count")
        return RecipeSystem(name, recipe)
    if mark:
        recurrence = replace(recurrence, theta_count=_parse_count(name, count))
    if theta_sim is not None:
        recurrence = replace(recurrence, theta_sim=theta_sim)
    return RecipeSystem(name, _with_recurrence(recipe, recurrence), recurrence)


def _parse_count(name: str, count: str) -> int:
    if not count.isdecimal():
        raise InvalidInput(f"{name!r}: what stands after @ is a theta_count, as in recmem@5")
    return int(count)


def _choose_recurrence(recipe: Recipe, embedder: Embedder) -> Recurrence | None:
    """Return the threshold that a new bank of the recipe has; ``None`` where it waits for no recurrence."""
    for part in recipe.consolidate:
        if (settings := _consolidation_settings(part)) is not None:
            return settings.recurrence or RECURRENCE.get(embedder.name, CASUAL)
    return None


def _with_recurrence(recipe: Recipe, recurrence: Recurrence) -> Recipe:
    return replace(recipe, consolidate=tuple(_set_recurrence(recurrence, part) for part in recipe.consolidate))


def _set_recurrence(recurrence: Recurrence, part: Factory[Consolidator]) -> Factory[Consolidator]:
    settings = _consolidation_settings(part)
    return part if settings is None else partial(UnitConsolidator, settings=replace(settings, recurrence=recurrence))


def _consolidation_settings(part: Factory[Consolidator]) -> ConsolidateSettings | None:
    """Return the settings of RecMem's consolidator; ``None`` for any other."""
    if part is UnitConsolidator:
        return ConsolidateSettings()
    if isinstance(part, partial) and part.func is UnitConsolidator:
        settings = part.keywords["settings"]
        assert isinstance(settings, ConsolidateSettings)
        return settings
    return None


def count_reasons(items: Sequence[Item]) -> Mapping[str, int]:
    """Why episodes were made: the first words of their labels ("recurrence", "pinned", "salient"), counted."""
    made = (item for item in items if item.kind is ItemKind.EPISODE and not item.order)
    return Counter(item.label.partition(" ")[0].rstrip(":") for item in made)


def count_merges(items: Sequence[Item]) -> int:
    """How often an episode was told anew: its steps after the first."""
    return sum(item.kind is ItemKind.EPISODE and item.order > 0 for item in items)
