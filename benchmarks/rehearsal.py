"""Run a recipe over the shipped sample with its recorded replies: ``python -m benchmarks.rehearsal --recipe
hindsight``.

The report has the memory that the recipe made of a year of talk, its answers, and the cost. A person compared each
answer with the known answer and judged it. These verdicts come with the recording, together with the judged answers. A
verdict does not count if the answer has changed since.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

from recollect.domain.answers import Answer
from recollect.domain.items import Item
from recollect.domain.opinions import Opinion
from recollect.sample import sample_path
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.datasets.jsonl import load_jsonl
from recollect_lab.recordings import Verdict
from recollect_lab.rehearsals.comparison import ReplayedRehearsal, replay_rehearsal
from recollect_lab.rehearsals.plans import PLANS, RehearsalPlan
from recollect_lab.rehearsals.rehearsal import AnsweredQuestion
from recollect_lab.reports.provenance import gather_provenance


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    at = datetime.now(UTC)
    with sample_path() as path:
        dataset = load_jsonl(path)
    replay = asyncio.run(replay_rehearsal(options.recipe, lambda line: print(line, file=sys.stderr), asked_at_once=1))
    found = as_json(PLANS[options.recipe], replay, dataset, at)
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if options.out:
        options.out.write_text(f"{text}\n", "utf-8")
    print(text)
    return 0 if replay.report.is_fresh else 1


def as_json(plan: RehearsalPlan, replay: ReplayedRehearsal, dataset: Dataset, at: datetime) -> dict[str, object]:
    """Return all results as one object."""
    result, report, verdicts = replay.result, replay.report, replay.verdicts
    return {
        "replies": {
            "exact": len(report.exact),
            "stale": len(report.stale),
            "missing": len(report.missing),
            "unused": len(report.unused),
        },
        "memory": {
            **Counter(item.kind.value for item in result.made),
            "of_which": dict(Counter(f"{item.kind.value}: {_sort(item)}" for item in result.made if _sort(item))),
            "opinions": len(result.opinions),
            "links": result.links,
        },
        "answers": _scores(result.asked, verdicts),
        "by_question": [_answered(one, verdicts.get(one.question.id)) for one in result.asked],
        "reflections": [{"question": question, **_said(answer)} for question, answer in result.reflected],
        "opinions": [_opinion(opinion) for opinion in result.opinions],
        "costs": [asdict(cost) for cost in result.costs],
        "problems": list(result.problems),
        "seconds": {
            "in_all": round(result.seconds, 2),
            "without_the_model": round(result.seconds - sum(cost.usage.seconds for cost in result.costs), 2),
        },
        "provenance": gather_provenance(dataset, settings=plan, at=at).to_json(),
    }


def _sort(item: Item) -> str:
    """Return the kind of an item within its ``ItemKind``: its network, or its label without a number at the end."""
    return item.network.value if item.network else item.label.rstrip("0123456789 ")


def _scores(asked: Sequence[AnsweredQuestion], verdicts: Mapping[str, Verdict]) -> dict[str, object]:
    categories = defaultdict(list)
    for one in asked:
        categories[one.question.category].append(one)
    answerable = [one for one in asked if not one.should_abstain]
    return {
        "asked": len(asked),
        "token_f1_of_answerable": round(mean(one.f1 for one in answerable), 3),
        "abstained_rightly": sum(one.answer.abstained for one in asked if one.should_abstain),
        "abstained_wrongly": sum(one.answer.abstained for one in answerable),
        "by_hand": {**_counted(verdicts), "not_graded": len(asked) - len(verdicts)},
        "by_category": {
            name: {
                "asked": len(ones),
                "token_f1": round(mean(one.f1 for one in ones), 3),
                "abstained": sum(one.answer.abstained for one in ones),
                "right": sum(verdicts.get(one.question.id) == "right" for one in ones),
            }
            for name, ones in categories.items()
        },
    }


def _counted(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """Return the number of answers with each verdict."""
    return {verdict.value: count for verdict, count in Counter(verdicts.values()).items()}


def _answered(one: AnsweredQuestion, verdict: str | None) -> dict[str, object]:
    return {
        "id": one.question.id,
        "category": one.question.category,
        "question": one.question.text,
        "known": one.question.answer,
        **_said(one.answer),
        "f1": round(one.f1, 3),
        "verdict": verdict,
    }


def _said(answer: Answer) -> dict[str, object]:
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "cited": [citation.id for citation in answer.citations],
    }


def _opinion(opinion: Opinion) -> dict[str, object]:
    return {
        "text": opinion.text,
        "confidence": round(opinion.confidence, 2),
        "steps": [f"{step.assessment} {step.confidence:.2f}" for step in opinion.steps],
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rehearsal", description=__doc__)
    parser.add_argument(
        "--recipe", choices=sorted(PLANS), default="hindsight", help="recipe whose recording is replayed"
    )
    parser.add_argument("--out", type=Path, help="write the JSON object to this file too")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
