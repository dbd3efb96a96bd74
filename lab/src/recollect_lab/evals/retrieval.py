"""Measure retrieval: retain every conversation in a bank, ask every question, and compare every ranking with the
gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

import numpy as np

from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.evals.bank import OpenBank
from recollect_lab.evals.conversation_run import ConversationOutcome, ConversationRun, EvalProgress
from recollect_lab.evals.report import QuestionCounts, QuestionResult, RetrievalReport, RunSettings, RunSize, RunTimes
from recollect_lab.evals.scoring import estimate_metrics
from recollect_lab.evals.selection import choose_questions
from recollect_lab.reports.bootstrap import Estimate
from recollect_lab.reports.provenance import Provenance


async def evaluate_retrieval(
    dataset: Dataset,
    open_bank: OpenBank,
    *,
    provenance: Provenance,
    depth: int = 50,
    limit: int | None = None,
    progress: Callable[[EvalProgress], None] | None = None,
    timer: Callable[[], float] = perf_counter,
) -> RetrievalReport:
    """Retain each conversation in a new bank, session by session in order of time, and ask its questions.

    ``depth`` is the number of pieces of evidence that each recall asks for, and the most places of a ranking. ``limit``
    takes that many of the questions that can be scored (:func:`~recollect_lab.evals.selection.choose`). A conversation
    without any of these questions is not retained. ``timer`` returns seconds.

    If a recall raises an error, its text is recorded and the question scores 0. The same applies if the evidence names
    a message that is not in the conversation. If a bank cannot be opened or cannot retain, the evaluation ends with its
    error.

    Raises:
        InvalidInput: ``depth`` or ``limit`` is below 1, or no question can be scored.
    """
    if depth < 1 or (limit is not None and limit < 1):
        raise InvalidInput(f"depth and limit must be 1 or more, not {depth} and {limit}")
    chosen = choose_questions(dataset, limit)
    if not chosen:
        raise InvalidInput(f"no question of {dataset.name} can be scored: none names its evidence")
    run = RunSettings(place=dataset.place, depth=depth, limit=limit)
    total = sum(len(one.questions) for one in chosen)
    exam = ConversationRun(run=run, total=total, progress=progress, timer=timer)
    outcomes: list[ConversationOutcome] = []
    for one in chosen:
        done = sum(len(outcome.rows) for outcome in outcomes)
        outcomes.append(await exam.run_conversation(one, open_bank, done=done))
    return _build_report(dataset, outcomes, run, provenance)


def _build_report(
    dataset: Dataset, outcomes: Sequence[ConversationOutcome], run: RunSettings, provenance: Provenance
) -> RetrievalReport:
    rows = tuple(row for outcome in outcomes for row in outcome.rows)
    return RetrievalReport(
        metrics=estimate_metrics([row.scores for row in rows]),
        by_category=_group_by_category(rows),
        run=run,
        seconds=_sum_times(outcomes, rows),
        size=RunSize(
            messages=sum(outcome.messages for outcome in outcomes),
            index_mb=sum(outcome.size_bytes for outcome in outcomes) / 1e6,
        ),
        counts=_count_questions(dataset, rows, conversations=len(outcomes)),
        provenance=provenance,
        rows=rows,
    )


def _group_by_category(rows: Sequence[QuestionResult]) -> Mapping[str, Mapping[str, Estimate]]:
    names = sorted({row.category for row in rows})
    return {name: estimate_metrics([row.scores for row in rows if row.category == name]) for name in names}


def _sum_times(outcomes: Sequence[ConversationOutcome], rows: Sequence[QuestionResult]) -> RunTimes:
    good = [row.ms for row in rows if row.error is None]  # failures are often fast, and would lower the percentiles
    middle, slow = (float(ms) for ms in np.percentile(good, [50, 95])) if good else (None, None)
    return RunTimes(
        retain=sum(outcome.retain_seconds for outcome in outcomes),
        recall=sum(row.ms for row in rows) / 1000,
        recall_p50_ms=middle,
        recall_p95_ms=slow,
    )


def _count_questions(dataset: Dataset, rows: Sequence[QuestionResult], *, conversations: int) -> QuestionCounts:
    questions = [question for conversation in dataset.conversations for question in conversation.questions]
    left_out = Counter(dataset.left_out)
    left_out.update(question.unscored for question in questions if question.unscored is not None)
    total = len(questions) + sum(dataset.left_out.values())
    over_limit = total - left_out.total() - len(rows)
    return QuestionCounts(
        conversations=conversations,
        questions=total,
        asked=len(rows),
        scored=sum(bool(row.gold) for row in rows),
        sessions_only=sum(not row.gold for row in rows),
        errors=sum(row.error is not None for row in rows),
        left_out=dict(left_out) | ({"over the limit": over_limit} if over_limit else {}),
        bad_evidence=dataset.bad_evidence,
    )
