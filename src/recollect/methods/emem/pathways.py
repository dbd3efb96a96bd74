"""The three pathways (E-mem, section 3.3): each looks in its own way, and says what it did."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

import numpy as np

from recollect.domain.items import ItemKind
from recollect.domain.queries import Probe, Query, Scope
from recollect.domain.recalls import ArmReport, ArmStatus
from recollect.domain.signals import Weights
from recollect.errors import ModelError
from recollect.methods.emem.settings import Pathway, RouteSettings
from recollect.models.embedder import Embedder
from recollect.recall.analyze import Question, probe_for, probe_of
from recollect.recall.arms import Idle, attempted
from recollect.recall.fuse import union, weighed
from recollect.store.protocol import StoreReader
from recollect.store.search import Hits, Refs, Search

SIGNALS: Final[Mapping[Pathway, tuple[str, ...]]] = {
    Pathway.SUMMARY: ("meaning", "exchange"),
    Pathway.VECTOR: ("meaning", "surroundings"),
    Pathway.KEYWORD: ("exchange", "passage", "session", "phrase", "speaker", "dated", "asks", "temporal"),
}
"""What each pathway goes by; names, dates and quoted phrases are words to look for too."""

TO_TURNS: Final = frozenset({Pathway.VECTOR, Pathway.KEYWORD})
"""The pathways that find turns, and segments by these."""

Brought = Mapping[int, float]
"""References to items, each with what it was brought: 0 for no sign of it, 1 for all one could ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a pathway found, and its report."""

    brought: Brought
    report: ArmReport


@dataclass(slots=True, kw_only=True)
class View:
    """What the pathways look with: one search for turns and summaries, and how many candidates each may bring.

    ``kinds`` are its tiers: pathways share what it ranks of them. ``narrowed`` says that the scope leaves out a part of
    what a segment holds; ``deaf`` says why nothing can be found by meaning.
    """

    probe: Probe
    search: Search
    kinds: tuple[ItemKind, ...]
    candidates: int
    settings: RouteSettings
    narrowed: bool
    deaf: str = ""
    _ranked: dict[str, tuple[Hits, ...]] = field(default_factory=dict)
    _searching: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def nearest(self, kind: ItemKind) -> Refs:
        """Return the items of a kind that are nearest in meaning; all kinds are ranked at once."""
        return await self._best("semantic", kind)

    async def worded(self, kind: ItemKind) -> Refs:
        """Return the items of a kind that share most words with the question; all kinds are ranked at once."""
        return await self._best("lexical", kind)

    async def timely(self) -> Refs:
        """Return the turns in the time asked about."""
        return await self._best("temporal", ItemKind.TURN)

    async def _best(self, arm: str, kind: ItemKind) -> Refs:
        async with self._searching[arm]:
            if arm not in self._ranked:
                self._ranked[arm] = (await getattr(self.search, arm)(self.candidates)).by_tier()
        return self._ranked[arm][self.kinds.index(kind)].refs


async def view_for(
    question: Question, query: Query, reader: StoreReader, embedder: Embedder, settings: RouteSettings
) -> View:
    """Open the bank for a question; an embedder that is down leaves what can be found by words."""
    deaf = ""
    try:
        probe = await probe_for(question, embedder)
    except ModelError as exc:
        deaf = f"{type(exc).__name__}: {exc}"
        probe = probe_of(question, np.zeros(reader.dimension, dtype=np.float32))
    reach = settings.recall.reaches[query.effort]
    kinds = (ItemKind.TURN, ItemKind.SUMMARY)
    return View(
        probe=probe,
        search=await reader.search(probe, query.scope, settings.recall.weights, [(kind,) for kind in kinds]),
        kinds=kinds,
        candidates=max(reach.candidates, query.limit),
        settings=settings,
        narrowed=_is_narrowed(query.scope),
        deaf=deaf,
    )


async def look(view: View) -> dict[Pathway, Looked]:
    """Go all pathways at once, each until its deadline; none can break another."""
    chosen = view.settings.pathways
    async with asyncio.TaskGroup() as group:  # takes them with it when the recall is cancelled
        tasks = {pathway: group.create_task(_timed(pathway, view)) for pathway in chosen}
    return {pathway: task.result() for pathway, task in tasks.items()}


def weight_of(pathway: Pathway, settings: RouteSettings) -> float:
    """How much a pathway counts: as much as the signals that it goes by."""
    own = _weights(pathway, settings)
    return float(sum(max(getattr(own, name), 0.0) for name in SIGNALS[pathway]))


async def summary(view: View) -> Brought:
    """Global alignment: the meaning and the words of summaries."""
    if view.narrowed:
        raise Idle("a summary tells of more than the sessions, speakers or times that are asked for")
    found = []
    if view.probe.vector.any():
        found.append(await view.nearest(ItemKind.SUMMARY))
    if view.probe.terms.size:
        found.append(await view.worded(ItemKind.SUMMARY))
    return await _weighed(Pathway.SUMMARY, view.search, union(found), view.settings)


async def vector(view: View) -> Brought:
    """Semantic association: the meaning of what was said, turn by turn, each with its surroundings."""
    if reason := view.probe.meaningless_because:
        raise Idle(reason)
    refs = await view.nearest(ItemKind.TURN)
    return await _weighed(Pathway.VECTOR, view.search, refs, view.settings)


async def keyword(view: View) -> Brought:
    """Symbolic trigger: the question's words, names, phrases and times in what was said."""
    found = []
    if view.probe.terms.size:
        found.append(await view.worded(ItemKind.TURN))
    if view.probe.during is not None:
        found.append(await view.timely())
    if not found:
        raise Idle("the question has no words to look for")
    return await _weighed(Pathway.KEYWORD, view.search, union(found), view.settings)


WAYS: Final[Mapping[Pathway, Callable[[View], Awaitable[Brought]]]] = {
    Pathway.SUMMARY: summary,
    Pathway.VECTOR: vector,
    Pathway.KEYWORD: keyword,
}


async def _timed(pathway: Pathway, view: View) -> Looked:
    nothing: Brought = {}
    tried = await attempted(lambda: WAYS[pathway](view), nothing, view.settings.recall.deadline_s)
    report = tried.report(pathway.value, len(tried.found))
    if view.deaf and pathway is not Pathway.KEYWORD:
        report = replace(report, status=ArmStatus.FAILED, note=f"without the embedder: {view.deaf}")
    return Looked(brought=tried.found, report=report)


async def _weighed(pathway: Pathway, search: Search, refs: Refs, settings: RouteSettings) -> Brought:
    """What a pathway's own signals say of items, as a share of the most that they could say."""
    signals = await search.signals(refs, np.zeros(len(refs), dtype=np.float32))
    strengths = weighed(signals, _weights(pathway, settings))
    return dict(zip(refs.tolist(), strengths.tolist(), strict=True))


def _weights(pathway: Pathway, settings: RouteSettings) -> Weights:
    """The weights of a pathway's signals; those of the others set to nothing."""
    own = SIGNALS[pathway]
    return replace(settings.recall.weights, **{one.name: 0.0 for one in fields(Weights) if one.name not in own})


def _is_narrowed(scope: Scope) -> bool:
    """Whether the scope leaves out a part of what a segment holds."""
    return bool(scope.sessions or scope.speakers or scope.during)


def reports_of(looked: Mapping[Pathway, Looked]) -> Sequence[ArmReport]:
    """What the pathways did, in their order."""
    return [one.report for one in looked.values()]
