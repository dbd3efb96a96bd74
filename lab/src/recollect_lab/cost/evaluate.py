"""Measure what it costs to make memory: recurrence against eager extraction (RecMem, tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.app.wire import require_schemas
from recollect.domain.items import ItemKind
from recollect.domain.usage import Usage
from recollect.errors import InvalidInput
from recollect.methods.recmem.calibration import compute_share, compute_similarities
from recollect.methods.recmem.episodes import MERGE
from recollect.methods.recmem.settings import Recurrence
from recollect.models.embedder import Embedder
from recollect.text.tokens import count_all
from recollect_lab.cost.report import CostReport, MeanCost, RecurrenceReport, SystemReport
from recollect_lab.cost.similarity import COUNTS, Floats, compute_quantiles, embed_units
from recollect_lab.cost.systems import EAGER, Construction, CostSystem, count_merges, count_reasons
from recollect_lab.datasets.dataset import Dataset, DatasetConversation
from recollect_lab.reports.bootstrap import estimate_mean
from recollect_lab.reports.provenance import Provenance

ReportProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _EmbeddedConversation:
    """A conversation and the vectors of its units, in the order in which they were retained."""

    conversation: DatasetConversation
    vectors: Floats


async def evaluate_cost(
    dataset: Dataset,
    systems: Sequence[CostSystem],
    embedder: Embedder,
    *,
    provenance: Provenance,
    limit: int | None = None,
    progress: ReportProgress | None = None,
) -> CostReport:
    """Measure every system on every conversation, each in a new bank in memory.

    Args:
        dataset: the conversations. Its questions are not asked.
        systems: the systems to compare. No two have the same name.
        embedder: the embedder of all systems.
        provenance: the origin of the figures.
        limit: the number of conversations, from the first one on. Without it, all are used.
        progress: receives a line for each step.

    Raises:
        InvalidInput: ``limit`` is below 1, or there are no conversations or no systems.
        MissingExtra: the package that makes JSON schemas of answers is not installed.
        ModelUnavailable: the embedder could not be reached.
    """
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    require_schemas()
    tell = progress or (lambda said: None)
    talks = [
        _EmbeddedConversation(conversation=one, vectors=await embed_units(one, embedder))
        for one in dataset.conversations[:limit]
    ]
    if not talks or not systems:
        raise InvalidInput(f"there is nothing to measure: {len(talks)} conversations, {len(systems)} systems")
    made = {system.name: await _construct_all(system, talks, embedder, tell) for system in systems}
    eager = _compute_mean_tokens(made[EAGER].values()) if EAGER in made else None
    return CostReport(
        systems={system.name: _report_system(system, made[system.name], talks, eager) for system in systems},
        similarities={count: compute_quantiles(_find_nearest_cosines(talks, count)) for count in COUNTS},
        talk=_describe_talk(talks),
        conversations=len(talks),
        provenance=provenance,
    )


async def _construct_all(
    system: CostSystem, talks: Sequence[_EmbeddedConversation], embedder: Embedder, tell: ReportProgress
) -> Mapping[str, Construction]:
    made = {}
    for talk in talks:
        tell(f"{system.name}: {talk.conversation.id}")
        made[talk.conversation.id] = await system.construct(talk.conversation, embedder)
    return made


def _compute_mean_tokens(made: Iterable[Construction]) -> float:
    return float(np.mean([_sum_tokens(one.usage) for one in made]))


def _sum_tokens(usage: Usage) -> int:
    return usage.tokens_in + usage.tokens_out


def _report_system(
    system: CostSystem, made: Mapping[str, Construction], talks: Sequence[_EmbeddedConversation], eager: float | None
) -> SystemReport:
    done = list(made.values())
    tokens = estimate_mean([float(_sum_tokens(one.usage)) for one in done])
    operations = dict.fromkeys(name for one in done for name in one.operations)
    return SystemReport(
        spent=_compute_mean([one.usage for one in done]),
        tokens=tokens,
        by={name: _compute_mean([one.operations.get(name, Usage()) for one in done]) for name in sorted(operations)},
        conversations={name: _compute_mean([one.usage]) for name, one in made.items()},
        of_eager=tokens.mean / eager if eager else None,
        recurrence=None if system.recurrence is None else _report_recurrence(system.recurrence, done, talks),
        problems={name: one.problems for name, one in made.items() if one.problems},
    )


def _compute_mean(usages: Sequence[Usage]) -> MeanCost:
    total, count = sum(usages, start=Usage()), len(usages)
    return MeanCost(calls=total.calls / count, tokens_in=total.tokens_in / count, tokens_out=total.tokens_out / count)


def _report_recurrence(
    recurrence: Recurrence, done: Sequence[Construction], talks: Sequence[_EmbeddedConversation]
) -> RecurrenceReport:
    count = recurrence.theta_count
    units = sum(len(talk.vectors) for talk in talks)
    made = [count_reasons(one.items) for one in done]
    return RecurrenceReport(
        theta_sim=recurrence.theta_sim,
        theta_merge=recurrence.merge_from,
        theta_count=count,
        units=units / len(talks),
        recurred=compute_share(_find_nearest_cosines(talks, count), recurrence.theta_sim, units),
        merges_asked=_compute_mean([one.operations.get(MERGE, Usage()) for one in done]).calls,
        merged=float(np.mean([count_merges(one.items) for one in done])),
        episodes={
            reason: sum(one.get(reason, 0) for one in made) / len(made)
            for reason in sorted({reason for one in made for reason in one})
        },
        facts=float(np.mean([sum(item.kind is ItemKind.SEMANTIC for item in one.items) for one in done])),
    )


def _find_nearest_cosines(talks: Sequence[_EmbeddedConversation], count: int) -> Floats:
    """Return, for all units, the cosine to the ``count``-th nearest earlier unit of the same conversation.

    A unit with fewer earlier ones is left out.
    """
    return np.concatenate([compute_similarities(talk.vectors, count) for talk in talks])


def _describe_talk(talks: Sequence[_EmbeddedConversation]) -> Mapping[str, float]:
    texts = [[message.text for session in talk.conversation.sessions for message in session.messages] for talk in talks]
    return {
        "messages": float(np.mean([len(said) for said in texts])),
        "units": float(np.mean([len(talk.vectors) for talk in talks])),
        "tokens": float(np.mean([sum(count_all(said)) for said in texts])),
    }
