"""What it costs to make memory of conversations: recurrence against eager extraction (RecMem, tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.app.wire import require_schemas
from recollect.domain.items import ItemKind
from recollect.domain.usage import Usage
from recollect.errors import InvalidInput
from recollect.methods.recmem.calibrate import share_above, similarities
from recollect.methods.recmem.episodes import MERGE
from recollect.methods.recmem.settings import Recurrence
from recollect.models.embedder import Embedder
from recollect.text.tokens import count_all
from recollect_lab.cost.report import CostReport, RecurrenceReport, Spent, SystemReport
from recollect_lab.cost.similarity import COUNTS, Floats, quantiles, unit_vectors
from recollect_lab.cost.systems import EAGER, Construction, System, merges, reasons
from recollect_lab.datasets.dataset import Conversation, Dataset
from recollect_lab.reports.bootstrap import bootstrap_mean
from recollect_lab.reports.provenance import Provenance

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Talk:
    """A conversation with its units' vectors, in the order kept."""

    conversation: Conversation
    vectors: Floats


async def evaluate_cost(
    dataset: Dataset,
    systems: Sequence[System],
    embedder: Embedder,
    *,
    provenance: Provenance,
    limit: int | None = None,
    progress: Progress | None = None,
) -> CostReport:
    """Have every system make its memory of each conversation, in a bank of its own in memory.

    Args:
        dataset: the conversations; its questions are not put.
        systems: what to compare; names are each one's own.
        embedder: of all of them.
        provenance: where the figures come from.
        limit: so many conversations, the first ones; all where left out.
        progress: is told what is being done.

    Raises:
        InvalidInput: ``limit`` is below 1, or there are no conversations or systems.
        MissingExtra: what makes JSON schemas of answers is not installed.
        ModelUnavailable: the embedder could not be reached.
    """
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    require_schemas()
    tell = progress or (lambda said: None)
    talks = [
        _Talk(conversation=one, vectors=await unit_vectors(one, embedder)) for one in dataset.conversations[:limit]
    ]
    if not talks or not systems:
        raise InvalidInput(f"there is nothing to measure: {len(talks)} conversations, {len(systems)} systems")
    made = {system.name: await _constructed(system, talks, embedder, tell) for system in systems}
    eager = _mean_tokens(made[EAGER].values()) if EAGER in made else None
    return CostReport(
        systems={system.name: _report(system, made[system.name], talks, eager) for system in systems},
        similarities={count: quantiles(_reached(talks, count)) for count in COUNTS},
        talk=_talk(talks),
        conversations=len(talks),
        provenance=provenance,
    )


async def _constructed(
    system: System, talks: Sequence[_Talk], embedder: Embedder, tell: Progress
) -> Mapping[str, Construction]:
    made = {}
    for talk in talks:
        tell(f"{system.name}: {talk.conversation.id}")
        made[talk.conversation.id] = await system.construct(talk.conversation, embedder)
    return made


def _mean_tokens(made: Iterable[Construction]) -> float:
    return float(np.mean([_tokens(one.usage) for one in made]))


def _tokens(usage: Usage) -> int:
    return usage.tokens_in + usage.tokens_out


def _report(
    system: System, made: Mapping[str, Construction], talks: Sequence[_Talk], eager: float | None
) -> SystemReport:
    done = list(made.values())
    tokens = bootstrap_mean([float(_tokens(one.usage)) for one in done])
    operations = dict.fromkeys(name for one in done for name in one.operations)
    return SystemReport(
        spent=_mean([one.usage for one in done]),
        tokens=tokens,
        by={name: _mean([one.operations.get(name, Usage()) for one in done]) for name in sorted(operations)},
        conversations={name: _mean([one.usage]) for name, one in made.items()},
        of_eager=tokens.mean / eager if eager else None,
        recurrence=None if system.recurrence is None else _recurrence(system.recurrence, done, talks),
        problems={name: one.problems for name, one in made.items() if one.problems},
    )


def _mean(usages: Sequence[Usage]) -> Spent:
    total, count = sum(usages, start=Usage()), len(usages)
    return Spent(calls=total.calls / count, tokens_in=total.tokens_in / count, tokens_out=total.tokens_out / count)


def _recurrence(recurrence: Recurrence, done: Sequence[Construction], talks: Sequence[_Talk]) -> RecurrenceReport:
    count = recurrence.theta_count
    units = sum(len(talk.vectors) for talk in talks)
    made = [reasons(one.items) for one in done]
    return RecurrenceReport(
        theta_sim=recurrence.theta_sim,
        theta_merge=recurrence.merge_from,
        theta_count=count,
        units=units / len(talks),
        recurred=share_above(_reached(talks, count), recurrence.theta_sim, units),
        merges_asked=_mean([one.operations.get(MERGE, Usage()) for one in done]).calls,
        merged=float(np.mean([merges(one.items) for one in done])),
        episodes={
            reason: sum(one.get(reason, 0) for one in made) / len(made)
            for reason in sorted({reason for one in made for reason in one})
        },
        facts=float(np.mean([sum(item.kind is ItemKind.SEMANTIC for item in one.items) for one in done])),
    )


def _reached(talks: Sequence[_Talk], count: int) -> Floats:
    """Of all units the cosines to the ``count``-th nearest earlier one of the same conversation, where there is one."""
    return np.concatenate([similarities(talk.vectors, count) for talk in talks])


def _talk(talks: Sequence[_Talk]) -> Mapping[str, float]:
    texts = [[message.text for session in talk.conversation.sessions for message in session.messages] for talk in talks]
    return {
        "messages": float(np.mean([len(said) for said in texts])),
        "units": float(np.mean([len(talk.vectors) for talk in talks])),
        "tokens": float(np.mean([sum(count_all(said)) for said in texts])),
    }
