"""Make memory of a conversation by a recipe or by eager extraction, with a stub model."""

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
from recollect.methods.dependencies import Factory, LazyFactory
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
"""The systems that are compared by default. ``recmem@N`` is the recipe with theta_count N."""

SETTLE_TIME = timedelta(hours=1)
"""The time from the beginning of a session until its background work is done, which is before the next session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """The memory that was made of one conversation, and its cost.

    ``operations`` is the cost of the calls by operation. ``items`` are all items that were made, including superseded
    ones. ``problems`` has one line for each failed job.
    """

    operations: Mapping[str, Usage]
    items: tuple[Item, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage:
        return sum(self.operations.values(), start=Usage())


class CostSystem(Protocol):
    """A way to make memory. ``recurrence`` has its thresholds, or is ``None`` if it does not wait for recurrence."""

    @property
    def name(self) -> str: ...

    @property
    def recurrence(self) -> Recurrence | None: ...

    async def construct(self, conversation: DatasetConversation, embedder: Embedder) -> Construction: ...


@dataclass(frozen=True, slots=True)
class EagerSystem:
    """Makes memory with one call for each pair of messages (:mod:`recollect_lab.cost.eager`)."""

    name: str = EAGER
    recurrence: Recurrence | None = None

    async def construct(self, conversation: DatasetConversation, embedder: Embedder) -> Construction:
        """Read every pair of messages.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        usage, _ = await extract_all(conversation, embedder, StubModel())
        return Construction(operations={eager.OPERATION: usage})


@dataclass(frozen=True, slots=True)
class RecipeSystem:
    """Makes memory by the background work of a recipe, after each session."""

    name: str
    recipe: Recipe
    recurrence: Recurrence | None = None

    async def construct(self, conversation: DatasetConversation, embedder: Embedder) -> Construction:
        """Retain session after session, and do all the work that each session causes.

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
    """Return all items that were made of the messages, except turns. Superseded items are included."""
    lines = [json.loads(line) async for line in bank.export()]
    items = (from_json(Item, line["item"]) for line in lines if line["type"] == "item")
    return tuple(item for item in items if item.kind is not ItemKind.TURN)


def build_system(name: str, embedder: Embedder, *, theta_sim: float | None = None) -> CostSystem:
    """Return a system by its name: ``eager``, a recipe, or a recipe with ``@`` and a theta_count for its recurrence.

    Args:
        name: the name of the system.
        embedder: the embedder that decides the thresholds of recurrence.
        theta_sim: a similarity threshold that replaces the embedder's.

    Raises:
        InvalidInput: there is no such recipe, the recipe does not wait for recurrence, or the theta_count is not a
            number.
    """
    if name == EAGER:
        return EagerSystem()
    known, mark, count = name.partition("@")
    recipe = get_recipe(known)
    recurrence = _choose_recurrence(recipe, embedder)
    if recurrence is None:
        if mark:
            raise InvalidInput(f"{name!r}: the recipe {known} does not wait for recurrence, so it has no theta_count")
        return RecipeSystem(name, recipe)
    if mark:
        recurrence = replace(recurrence, theta_count=_parse_count(name, count))
    if theta_sim is not None:
        recurrence = replace(recurrence, theta_sim=theta_sim)
    return RecipeSystem(name, _with_recurrence(recipe, recurrence), recurrence)


def _parse_count(name: str, count: str) -> int:
    if not count.isdecimal():
        raise InvalidInput(f"{name!r}: the part after @ must be a theta_count, as in recmem@5")
    return int(count)


def _choose_recurrence(recipe: Recipe, embedder: Embedder) -> Recurrence | None:
    """Return the thresholds that a new bank of the recipe has. ``None`` if the recipe does not wait for recurrence."""
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
    """Return the settings of RecMem's consolidator. ``None`` for any other part."""
    if isinstance(part, LazyFactory):
        part = part.load()
    if part is UnitConsolidator:
        return ConsolidateSettings()
    if isinstance(part, partial) and part.func is UnitConsolidator:
        settings = part.keywords["settings"]
        assert isinstance(settings, ConsolidateSettings)
        return settings
    return None


def count_reasons(items: Sequence[Item]) -> Mapping[str, int]:
    """Count the new episodes by reason: the first word of each label ("recurrence", "pinned", "salient")."""
    made = (item for item in items if item.kind is ItemKind.EPISODE and not item.order)
    return Counter(item.label.partition(" ")[0].rstrip(":") for item in made)


def count_merges(items: Sequence[Item]) -> int:
    """Return how often an episode was rewritten: the number of its steps after the first."""
    return sum(item.kind is ItemKind.EPISODE and item.order > 0 for item in items)
