"""Search by the three pathways (E-mem, section 3.3). Each searches in its own way, and reports what it did."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

import numpy as np

from recollect.domain.items import ItemKind
from recollect.domain.queries import Query, Scope, SearchProbe
from recollect.domain.recalls import ArmReport, ArmStatus
from recollect.domain.signals import Weights
from recollect.errors import ModelError
from recollect.methods.emem.settings import Pathway, RouteSettings
from recollect.models.embedder import Embedder
from recollect.recall.analyze import ParsedQuestion, build_probe, make_probe
from recollect.recall.arms import ArmIdle, Attempt, run_until_deadline
from recollect.recall.fusion import unite_rankings, weigh_signals
from recollect.store.protocol import StoreReader
from recollect.store.search import Hits, Refs, Search

SIGNALS: Final[Mapping[Pathway, tuple[str, ...]]] = {
    Pathway.SUMMARY: ("meaning", "exchange"),
    Pathway.VECTOR: ("meaning", "surroundings"),
    Pathway.KEYWORD: ("exchange", "passage", "session", "phrase", "speaker", "dated", "asks", "temporal"),
}
"""The signals of each pathway. Names, dates and quoted phrases are words to search for too."""

TURN_PATHWAYS: Final = frozenset({Pathway.VECTOR, Pathway.KEYWORD})
"""The pathways that find turns, and through them segments."""

NO_REFS: Final[Refs] = np.empty(0, dtype=np.int64)

SegmentStrengths = Mapping[int, float]
"""References to items, each with its score: 0 for no sign of it, 1 for the best possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathwayResult:
    """The results of a pathway, and its report."""

    strengths: SegmentStrengths
    report: ArmReport


@dataclass(slots=True, kw_only=True)
class PathwayInput:
    """The input of the pathways: a probe, the scope of the question, and the number of candidates for each.

    ``search`` is the open search for the question. ``embedder_failure`` is the reason why a search by meaning is not
    possible, or "".
    """

    probe: SearchProbe
    search: Search
    kinds: tuple[ItemKind, ...]
    candidates: int
    settings: RouteSettings
    is_narrowed: bool
    embedder_failure: str = ""
    _ranked: dict[str, tuple[Hits, ...]] = field(default_factory=dict)
    _searching: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def search_meaning(self, kind: ItemKind) -> Refs:
        """Return the items of a kind that are nearest in meaning; all kinds are ranked at once."""
        return await self._search_arm("semantic", kind)

    async def search_words(self, kind: ItemKind) -> Refs:
        """Return the items of a kind that share most words with the question; all kinds are ranked at once."""
        return await self._search_arm("lexical", kind)

    async def search_time(self) -> Refs:
        """Return the turns in the time asked about."""
        return await self._search_arm("temporal", ItemKind.TURN)

    async def _search_arm(self, arm: str, kind: ItemKind) -> Refs:
        async with self._searching[arm]:
            if arm not in self._ranked:
                self._ranked[arm] = (await getattr(self.search, arm)(self.candidates)).by_tier()
        return self._ranked[arm][self.kinds.index(kind)].refs


async def build_input(
    question: ParsedQuestion, query: Query, reader: StoreReader, embedder: Embedder, settings: RouteSettings
) -> PathwayInput:
    """Prepare the bank for a question. If the embedder is down, only searches by words are possible."""
    deaf = ""
    try:
        probe = await build_probe(question, embedder)
    except ModelError as exc:
        deaf = f"{type(exc).__name__}: {exc}"
        probe = make_probe(question, np.zeros(reader.dimension, dtype=np.float32))
    reach = settings.recall.budgets[query.effort]
    kinds = (ItemKind.TURN, ItemKind.SUMMARY)
    return PathwayInput(
        probe=probe,
        search=await reader.search(probe, query.scope, settings.recall.weights, [(kind,) for kind in kinds]),
        kinds=kinds,
        candidates=max(reach.candidates, query.limit),
        settings=settings,
        is_narrowed=_is_narrowed(query.scope),
        embedder_failure=deaf,
    )


async def run_pathways(view: PathwayInput) -> dict[Pathway, PathwayResult]:
    """Run all pathways at the same time, each until its deadline, and score their results.

    A failure of one does not stop the others.
    """
    chosen = view.settings.pathways
    async with asyncio.TaskGroup() as group:  # takes them with it when the recall is cancelled
        tasks = {pathway: group.create_task(_run_timed(pathway, view)) for pathway in chosen}
    found = {pathway: task.result() for pathway, task in tasks.items()}
    scoring = await run_until_deadline(lambda: _score_found(found, view), None, view.settings.recall.deadline_s)
    return {pathway: _make_result(pathway, one, scoring, view) for pathway, one in found.items()}


def sum_pathway_weight(pathway: Pathway, settings: RouteSettings) -> float:
    """Return the weight of a pathway: the sum of the weights of its signals."""
    own = _pathway_weights(pathway, settings)
    return float(sum(max(getattr(own, name), 0.0) for name in SIGNALS[pathway]))


async def search_summaries(view: PathwayInput) -> Refs:
    """Search by global alignment: the meaning and the words of summaries."""
    if view.is_narrowed:
        raise ArmIdle("a summary tells of more than the sessions, speakers or times that are asked for")
    found = []
    if view.probe.vector.any():
        found.append(await view.search_meaning(ItemKind.SUMMARY))
    if view.probe.terms.size:
        found.append(await view.search_words(ItemKind.SUMMARY))
    return unite_rankings(found)


async def search_vectors(view: PathwayInput) -> Refs:
    """Search by semantic association: the meaning of each turn with its surroundings."""
    if reason := view.probe.no_meaning_reason:
        raise ArmIdle(reason)
    return await view.search_meaning(ItemKind.TURN)


async def search_keywords(view: PathwayInput) -> Refs:
    """Symbolic trigger: the question's words, names, phrases and times in what was said."""
    found = []
    if view.probe.terms.size:
        found.append(await view.search_words(ItemKind.TURN))
    if view.probe.during is not None:
        found.append(await view.search_time())
    if not found:
        raise ArmIdle("the question has no words to look for")
    return unite_rankings(found)


PATHWAYS: Final[Mapping[Pathway, Callable[[PathwayInput], Awaitable[Refs]]]] = {
    Pathway.SUMMARY: search_summaries,
    Pathway.VECTOR: search_vectors,
    Pathway.KEYWORD: search_keywords,
}


async def _run_timed(pathway: Pathway, view: PathwayInput) -> Attempt[Refs]:
    return await run_until_deadline(lambda: PATHWAYS[pathway](view), NO_REFS, view.settings.recall.deadline_s)


async def _score_found(found: Mapping[Pathway, Attempt[Refs]], view: PathwayInput) -> dict[Pathway, SegmentStrengths]:
    """Return the score of each item by the signals of its pathway, as a share of the highest possible score.

    The signals of all items are read at once.
    """
    refs = unite_rankings([one.result for one in found.values()])
    signals = await view.search.signals(refs, np.zeros(len(refs), dtype=np.float32))
    places = {ref: place for place, ref in enumerate(refs.tolist())}
    strengths: dict[Pathway, SegmentStrengths] = {}
    for pathway, one in found.items():
        own = one.result.tolist()
        scores = weigh_signals(signals, _pathway_weights(pathway, view.settings))[[places[ref] for ref in own]]
        strengths[pathway] = dict(zip(own, scores.tolist(), strict=True))
    return strengths


def _make_result(
    pathway: Pathway,
    found: Attempt[Refs],
    scoring: Attempt[dict[Pathway, SegmentStrengths] | None],
    view: PathwayInput,
) -> PathwayResult:
    """Return the result of a pathway. If its results could not be scored, it has failed."""
    nothing: SegmentStrengths = {}
    strengths = nothing if scoring.result is None else scoring.result[pathway]
    if scoring.result is None and found.status is ArmStatus.OK:
        report = scoring.report(pathway.value, 0)
    else:
        report = found.report(pathway.value, len(strengths))
    if view.embedder_failure and pathway is not Pathway.KEYWORD:
        report = replace(report, status=ArmStatus.FAILED, note=f"without the embedder: {view.embedder_failure}")
    return PathwayResult(strengths=strengths, report=report)


def _pathway_weights(pathway: Pathway, settings: RouteSettings) -> Weights:
    """Return the weights of the signals of a pathway. The weights of the other signals are 0."""
    own = SIGNALS[pathway]
    return replace(settings.recall.weights, **{one.name: 0.0 for one in fields(Weights) if one.name not in own})


def _is_narrowed(scope: Scope) -> bool:
    """Return true if the scope excludes a part of the contents of segments."""
    return bool(scope.sessions or scope.speakers or scope.during)


def list_reports(looked: Mapping[Pathway, PathwayResult]) -> Sequence[ArmReport]:
    """Return the reports of the pathways, in their order."""
    return [one.report for one in looked.values()]
