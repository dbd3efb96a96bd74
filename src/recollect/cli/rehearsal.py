"""``recollect demo --recipe hindsight``: a year of talk read for facts, with recorded replies in place of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.cli.evidence import standing
from recollect.cli.output import count, cut, faint, indented, one_line, remark, say, strong, table, width
from recollect.cli.running import run
from recollect.errors import MissingExtra, ModelUnavailable, RecollectError

if TYPE_CHECKING:
    from recollect.domain.items import Item
    from recollect.domain.opinions import Opinion, OpinionStep
    from recollect.domain.usage import Cost, Usage
    from recollect.evals.rehearsal import Answered, RehearsalResult
    from recollect.recordings import ReplayReport

RECORDING = "hindsight"
FACTS, OBSERVATIONS, OPINIONS, STEPS, ANSWERS, ABSTENTIONS = 4, 3, 3, 5, 5, 2
"""How many of each are shown."""

_INDENT = "   "
_DEEPER = _INDENT * 2


def show_rehearsal() -> None:
    """Replay the shipped recording through the real adapter, and show what came of it.

    Raises:
        MissingExtra: what talks to models is not installed.
        ModelUnavailable: a reply that the run cannot go on without is not recorded.
    """
    from recollect.evals.rehearsal import rehearse
    from recollect.recordings import Recording, ReplayServer, recording_path

    _require_adapter()
    with recording_path(RECORDING) as folder, ReplayServer(Recording.open(folder)) as server:
        say(introduction())
        try:
            result = run(rehearse(server.base_url, _progress))
        except RecollectError as exc:
            raise ModelUnavailable(
                f"the rehearsal broke off: {exc} ({fit_line(server.report)}; recollect recordings check {RECORDING} "
                "tells which)"
            ) from exc
        report = server.report
    for block in blocks(result, report):
        say(f"\n{block}")


def _require_adapter() -> None:
    # Said before anything is begun: in the middle, every job would fail of it.
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        raise MissingExtra("pydantic-ai-slim", "models")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        remark(text)


def introduction() -> str:
    """What is about to be seen, and what of it is a recording."""
    return indented(
        "Hindsight over a year of talk between Ada and Bram: read for facts in the background, observed, reflected on "
        "by an agent of its own character, and asked about.\n"
        "The model's replies are RECORDED. They are replayed on this machine, by the adapter that asks a real model; "
        "everything around them is done now.",
        "",
        fold=True,
    )


def blocks(result: RehearsalResult, report: ReplayReport) -> list[str]:
    """What the run gave, a heading each."""
    answers = _shown_answers(result.asked)
    parts = [
        _replies_block(report),
        facts_block(result, answers),
        observations_block(result.observations, answers),
        opinions_block(result),
        *(reflection_block(question, answer.text) for question, answer in result.reflected[-1:]),
        answers_block(answers, result.asked),
        abstentions_block(result.asked),
        costs_block(result),
    ]
    if result.problems:
        parts.append(_headed(f"{count(len(result.problems), 'job')} failed", map(_line, result.problems)))
    return [part for part in parts if part]


def fit_line(report: ReplayReport) -> str:
    """How many replies were the very ones, how many stood in for others, how many there were none of."""
    return f"replies: {len(report.exact)} exact, {len(report.stale)} stale, {len(report.missing)} missing"


def _replies_block(report: ReplayReport) -> str:
    line = fit_line(report).capitalize()
    if report.fresh:
        return line
    return f"{line}: what is below rests in part on replies to other prompts.\nrecollect recordings check {RECORDING}"


def facts_block(result: RehearsalResult, answers: Sequence[Answered]) -> str:
    """A few facts, those first that the answers below rest on, and how all of them are linked."""
    title = f"What it knows: {count(len(result.facts), 'fact')}, read from the messages"
    shown = _first_cited(result.facts, answers, FACTS)
    lines = [_fact(fact) for fact in sorted(shown, key=lambda fact: fact.mentioned)]
    return _headed(title, [*lines, _line(f"links between items: {_counts(result.links)}")])


def observations_block(observations: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few of the summaries."""
    if not observations:
        return ""
    title = f"What it has summed up: {count(len(observations), 'observation')}"
    shown = _first_cited(observations, answers, OBSERVATIONS)
    return _headed(title, [_known(one.text, f"from {count(len(one.derived_from), 'fact')}") for one in shown])


def opinions_block(result: RehearsalResult) -> str:
    """The opinions that moved most often, step by step, with the words of what moved them."""
    if not result.opinions:
        return ""
    title = f"What it believes: {count(len(result.opinions), 'opinion')}, each with how it came about"
    known = {item.id: item for item in (*result.facts, *result.observations)}
    moved = sorted(result.opinions, key=lambda opinion: -len(opinion.steps))[:OPINIONS]
    return _headed(title, [_opinion(opinion, known) for opinion in moved])


def reflection_block(question: str, text: str) -> str:
    """What the agent said when it was asked for its view."""
    return _headed(f"Asked for its view: {one_line(question)}", [indented(text, _INDENT, fold=True)])


def answers_block(answers: Sequence[Answered], asked: Sequence[Answered]) -> str:
    """Some answers with what they rest on, and how near all of them come to the known ones."""
    scored = [one for one in asked if not one.abstention_due]
    if not scored:
        return ""
    f1 = sum(one.f1 for one in scored) / len(scored)
    title = f"Asked after facts: {count(len(scored), 'question')} with a known answer, mean token F1 {f1:.2f}"
    return _headed(title, [_answered(one) for one in answers])


def abstentions_block(asked: Sequence[Answered]) -> str:
    """Questions that nobody gave the answer to."""
    due = [one for one in asked if one.abstention_due]
    if not due:
        return ""
    right = sum(one.answer.abstained for one in due)
    title = f"Asked what nobody said: {right} of {len(due)} times it said so"
    return _headed(title, [_answered(one) for one in due[:ABSTENTIONS]])


def costs_block(result: RehearsalResult) -> str:
    """Tokens by role, as the recorded endpoint counted them, and the time that is ours."""
    spent = by_role(result.costs)
    rows = [("role", "calls", "tokens in", "cached", "tokens out")] + [
        (role, f"{used.calls:,}", f"{used.tokens_in:,}", f"{used.tokens_cached:,}", f"{used.tokens_out:,}")
        for role, used in spent.items()
    ]
    waited = sum(used.seconds for used in spent.values())
    ours = f"{max(result.seconds - waited, 0.0):.1f} s without the model, {waited:.1f} s waiting for recorded replies"
    return _headed("It cost", [indented(table(rows, right=(1, 2, 3, 4)), _INDENT), _line(ours)])


def by_role(costs: Iterable[Cost]) -> dict[str, Usage]:
    """What was spent in each role, whatever the operation and the model."""
    spent: dict[str, Usage] = {}
    for cost in costs:
        spent[cost.role] = spent[cost.role] + cost.usage if cost.role in spent else cost.usage
    return spent


def _shown_answers(asked: Sequence[Answered]) -> list[Answered]:
    """The first of each category, right or wrong."""
    chosen: dict[str, Answered] = {}
    for one in asked:
        if not one.abstention_due:
            chosen.setdefault(one.question.category, one)
    return list(chosen.values())[:ANSWERS]


def _first_cited(items: Sequence[Item], answers: Sequence[Answered], most: int) -> list[Item]:
    """The items that answers cite, then the others."""
    cited = {citation.id for one in answers for citation in one.answer.citations}
    return sorted(items, key=lambda item: item.id not in cited)[:most]


def _fact(fact: Item) -> str:
    from recollect.text.when import describe

    kind = fact.network.value if fact.network else fact.kind.value
    happened = f"happened {describe(fact.occurred)}, " if fact.occurred else ""
    return _known(fact.text, f"{kind} fact, {happened}said {fact.mentioned:%Y-%m-%d} in {', '.join(fact.sources)}")


def _known(text: str, foot: str) -> str:
    return f"{indented(one_line(text), _INDENT, fold=True)}\n{faint(indented(foot, _DEEPER, fold=True))}"


def _opinion(opinion: Opinion, known: Mapping[str, Item]) -> str:
    """An opinion and its first and last steps; where a step changed the words, they stand under it."""
    lines = [indented(f"believed {opinion.confidence:.2f}: {opinion.text}", _INDENT, fold=True)]
    first, *later = opinion.steps
    lines.append(faint(_step(first, known)))
    if len(later) > STEPS:
        lines.append(faint(f"{_DEEPER}... {count(len(later) - STEPS, 'step')} left out"))
    for before, step in list(pairwise(opinion.steps))[-STEPS:]:
        lines.append(faint(_step(step, known)))
        if before.text != step.text != opinion.text:
            lines.append(faint(indented(f"then believed: {step.text}", _DEEPER * 2, fold=True)))
    return "\n".join(lines)


def _step(step: OpinionStep, known: Mapping[str, Item]) -> str:
    texts = [known[id_].text for id_ in step.evidence if id_ in known]
    head = f"{_DEEPER}{step.at:%Y-%m-%d}  {step.confidence:.2f}  {step.assessment.value}: "
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    why = cut(texts[0], max(width() - len(head) - len(more), 20)) if texts else "evidence that is not a fact"
    return f"{head}{why}{more}"


def _answered(one: Answered) -> str:
    question, answer = one.question, one.answer
    parts = [
        f"{_INDENT}{strong(one_line(question.text))}",
        indented(answer.text, _DEEPER, fold=True),
        faint(indented(f"known answer: {question.answer or 'none'}", _DEEPER, fold=True)),
    ]
    parts += [
        faint(_DEEPER + cut(f"{standing(citation.kind)}: {citation.text}", width() - len(_DEEPER)))
        for citation in answer.citations[:2]
    ]
    return "\n".join(parts)


def _counts(links: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(links.items(), key=lambda one: -one[1])) or "none"


def _line(text: str) -> str:
    return indented(one_line(text), _INDENT, fold=True)


def _headed(title: str, lines: Iterable[str]) -> str:
    return "\n".join([strong(title), *lines])
