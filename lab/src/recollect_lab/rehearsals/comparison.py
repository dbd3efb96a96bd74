"""Compare recipes over the shipped sample: the same questions, answered with the recorded replies of each recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.domain.usage import Cost, Usage
from recollect.errors import ModelUnavailable, RecollectError
from recollect_lab.recordings import (
    Recording,
    ReplayReport,
    ReplayServer,
    Verdict,
    load_verdicts,
    open_recording_folder,
)
from recollect_lab.rehearsals.plans import TWELVE_QUESTIONS, get_plan
from recollect_lab.rehearsals.rehearsal import AnsweredQuestion, Progress, RehearsalResult, rehearse


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRehearsal:
    """The result of a rehearsal, the report on its recording, and the verdicts by question id."""

    result: RehearsalResult
    report: ReplayReport
    verdicts: Mapping[str, Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeComparison:
    """The answers of one recipe to the common questions, and their cost.

    ``verdicts`` are in the order of the questions, with ``None`` for an answer that was not judged. ``built`` is the
    cost of the memory before the first question. ``asked`` is the cost of all answers together. ``steps`` are the
    numbers of steps of the answers.
    """

    recipe: str
    verdicts: tuple[Verdict | None, ...]
    built: Usage
    asked: Usage
    steps: tuple[int, ...]
    fresh: bool

    def count(self, verdict: Verdict) -> int:
        return self.verdicts.count(verdict)


async def replay_rehearsal(name: str, progress: Progress, *, asked_at_once: int = 8) -> ReplayedRehearsal:
    """Rehearse a plan with the recording of the same name.

    Raises:
        InvalidInput: there is no such plan, or no such recording.
        ModelUnavailable: the rehearsal failed, for example because a reply is not recorded.
    """
    plan = get_plan(name)
    with open_recording_folder(name) as folder, ReplayServer(Recording.open(folder)) as server:
        try:
            result = await rehearse(plan, server.base_url, progress, asked_at_once=asked_at_once)
        except RecollectError as exc:
            raise ModelUnavailable(
                f"the rehearsal broke off: {exc} ({server.report.summary}; "
                f"recollect recordings check {name} shows them)"
            ) from exc
        said = {one.question.id: one.answer.text for one in result.asked}
        return ReplayedRehearsal(result=result, report=server.report, verdicts=load_verdicts(folder, said))


def compare_recipe(
    name: str, replay: ReplayedRehearsal, questions: Sequence[str] = TWELVE_QUESTIONS
) -> RecipeComparison:
    """Return a line of the comparison.

    Raises:
        KeyError: one of the questions was not asked.
    """
    by_id = {one.question.id: one for one in replay.result.asked}
    asked = [by_id[id_] for id_ in questions]
    return RecipeComparison(
        recipe=name,
        verdicts=tuple(replay.verdicts.get(id_) for id_ in questions),
        built=_sum_usage(replay.result.built),
        asked=sum((one.answer.receipt.usage for one in asked), Usage()),
        steps=tuple(_count_steps(one) for one in asked),
        fresh=replay.report.is_fresh,
    )


def _count_steps(one: AnsweredQuestion) -> int:
    return len(one.answer.trace)


def _sum_usage(costs: Sequence[Cost]) -> Usage:
    return sum((cost.usage for cost in costs), Usage())
