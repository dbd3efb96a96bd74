"""Show the memory that a recipe built from a conversation: a heading and a few lines for each kind of memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.cli.output import (
    flatten_line,
    format_count,
    format_faint,
    format_strong,
    indent_text,
    terminal_width,
    truncate_text,
)

if TYPE_CHECKING:
    from recollect.domain.items import Item
    from recollect.domain.opinions import Opinion, OpinionStep
    from recollect_lab.rehearsals.rehearsal import AnsweredQuestion, RehearsalResult

FACTS, GISTS, OBSERVATIONS, EPISODES, SUMMARIES, OPINIONS, STEPS = 4, 4, 3, 3, 2, 3, 5
"""The number of each that are shown."""

SUMMARY_CHARACTERS = 400

INDENT = "   "
DEEPER = INDENT * 2


def format_memory(result: RehearsalResult, answers: Sequence[AnsweredQuestion]) -> list[str]:
    """Return a block for each kind of memory that exists. Items that ``answers`` cite come first in it."""
    from recollect.domain.items import ItemKind

    blocks = [
        format_facts(result.items_of(ItemKind.FACT), answers),
        format_gists(result.items_of(ItemKind.GIST), answers),
        format_triples(result.items_of(ItemKind.TRIPLE), answers),
        format_observations(result.items_of(ItemKind.OBSERVATION), answers),
        format_episodes(result.items_of(ItemKind.EPISODE), answers),
        format_semantic_facts(result.items_of(ItemKind.SEMANTIC), answers),
        format_summaries(result.items_of(ItemKind.SUMMARY)),
        format_opinions(result),
        *(format_reflection(question, answer.text) for question, answer in result.reflected[-1:]),
    ]
    links = [format_section("How it is linked", [format_line(_format_counts(result.links))])] if result.links else []
    return [*(block for block in blocks if block), *links]


def format_facts(facts: Sequence[Item], answers: Sequence[AnsweredQuestion]) -> str:
    """Return a few facts, in the order of time."""
    title = f"What it knows: {format_count(len(facts), 'fact')}, read from the messages"
    shown = _sort_cited_first(facts, answers, FACTS)
    return _format_block(title, [_format_fact(fact) for fact in sorted(shown, key=lambda fact: fact.mentioned)])


def format_gists(gists: Sequence[Item], answers: Sequence[AnsweredQuestion]) -> str:
    """Return a few gists, in the order of time."""
    title = f"What it recollects: {format_count(len(gists), 'gist')}, an event each"
    shown = sorted(_sort_cited_first(gists, answers, GISTS), key=lambda gist: gist.mentioned)
    return _format_block(
        title, [_format_known(one.text, _format_occurrence(one) + f"from {', '.join(one.sources)}") for one in shown]
    )


def format_triples(triples: Sequence[Item], answers: Sequence[AnsweredQuestion]) -> str:
    """Return a few triples, in the order of time."""
    title = f"How its phrases are connected: {format_count(len(triples), 'fact')}"
    shown = sorted(_sort_cited_first(triples, answers, FACTS), key=lambda one: one.mentioned)
    return _format_block(
        title, [_format_known(_format_phrases(one), _format_occurrence(one) + _format_sources(one)) for one in shown]
    )


def _format_phrases(item: Item) -> str:
    triple = item.triple
    return item.text if triple is None else f"({triple.subject}, {triple.predicate}, {triple.object})"


def format_observations(observations: Sequence[Item], answers: Sequence[AnsweredQuestion]) -> str:
    """Return a few observations: summaries of what is known about somebody."""
    title = f"What it has summed up: {format_count(len(observations), 'observation')}"
    shown = _sort_cited_first(observations, answers, OBSERVATIONS)
    return _format_block(
        title, [_format_known(one.text, f"from {format_count(len(one.derived_from), 'fact')}") for one in shown]
    )


def format_episodes(episodes: Sequence[Item], answers: Sequence[AnsweredQuestion]) -> str:
    """Return a few episodes, each with the reason why it was written and the number of its messages."""
    title = f"What recurred: {format_count(len(episodes), 'episode')}"
    shown = _sort_cited_first(episodes, answers, EPISODES)
    return _format_block(title, [_format_known(one.text, f"{one.label}; {_format_sources(one)}") for one in shown])


def format_semantic_facts(facts: Sequence[Item], answers: Sequence[AnsweredQuestion]) -> str:
    """Return a few facts that episodes do not contain."""
    title = f"Which details it adds to episodes: {format_count(len(facts), 'semantic fact')}"
    shown = _sort_cited_first(facts, answers, FACTS)
    return _format_block(title, [_format_known(one.text, f"{one.label}; {_format_sources(one)}") for one in shown])


def format_summaries(summaries: Sequence[Item]) -> str:
    """Return the beginnings of a few summaries of segments."""
    title = f"How it finds its segments: {len(summaries)} {'summary' if len(summaries) == 1 else 'summaries'}"
    shown = sorted(summaries, key=lambda one: one.order)[:SUMMARIES]
    lines = [
        _format_known(truncate_text(one.text, SUMMARY_CHARACTERS), f"by {_describe_maker(one)}; {_format_sources(one)}")
        for one in shown
    ]
    return _format_block(title, lines)


def _describe_maker(summary: Item) -> str:
    return "rule: an extract" if summary.label == "extractive" else "a model"


def format_opinions(result: RehearsalResult) -> str:
    """Return the opinions that changed most often, step by step, with the text of the evidence for each change."""
    if not result.opinions:
        return ""
    title = f"What it believes: {format_count(len(result.opinions), 'opinion')}, each with how it came about"
    known = {item.id: item for item in result.made}
    moved = sorted(result.opinions, key=lambda opinion: -len(opinion.steps))[:OPINIONS]
    return format_section(title, [_format_opinion(opinion, known) for opinion in moved])


def format_reflection(question: str, text: str) -> str:
    """Return the agent's reply when it was asked for its view."""
    return format_section(f"Asked for its view: {flatten_line(question)}", [indent_text(text, INDENT, fold=True)])


def _sort_cited_first(items: Sequence[Item], answers: Sequence[AnsweredQuestion], most: int) -> list[Item]:
    """Return at most ``most`` items. Those that answers cite come first."""
    cited = {citation.id for one in answers for citation in one.answer.citations}
    return sorted(items, key=lambda item: item.id not in cited)[:most]


def _format_occurrence(item: Item) -> str:
    """Return the time when an item happened, as the beginning of a line. Return "" if no time is known."""
    from recollect.text.time_expressions import describe_interval

    return f"happened {describe_interval(item.occurred)}, " if item.occurred else ""


def _format_fact(fact: Item) -> str:
    kind = fact.network.value if fact.network else fact.kind.value
    return _format_known(
        fact.text, f"{kind} fact, {_format_occurrence(fact)}said {fact.mentioned:%Y-%m-%d} in {', '.join(fact.sources)}"
    )


def _format_known(text: str, foot: str) -> str:
    return f"{indent_text(flatten_line(text), INDENT, fold=True)}\n{format_faint(indent_text(foot, DEEPER, fold=True))}"


def _format_opinion(opinion: Opinion, known: Mapping[str, Item]) -> str:
    """Return an opinion with its first and last steps. If a step changed the words, the new words are under it."""
    lines = [indent_text(f"believed {opinion.confidence:.2f}: {opinion.text}", INDENT, fold=True)]
    first, *later = opinion.steps
    lines.append(format_faint(_format_step(first, known)))
    if len(later) > STEPS:
        lines.append(format_faint(f"{DEEPER}... {format_count(len(later) - STEPS, 'step')} left out"))
    for before, step in list(pairwise(opinion.steps))[-STEPS:]:
        lines.append(format_faint(_format_step(step, known)))
        if before.text != step.text != opinion.text:
            lines.append(format_faint(indent_text(f"then believed: {step.text}", DEEPER * 2, fold=True)))
    return "\n".join(lines)


def _format_step(step: OpinionStep, known: Mapping[str, Item]) -> str:
    texts = [known[id_].text for id_ in step.evidence if id_ in known]
    head = f"{DEEPER}{step.at:%Y-%m-%d}  {step.confidence:.2f}  {step.assessment.value}: "
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    why = (
        truncate_text(texts[0], max(terminal_width() - len(head) - len(more), 20))
        if texts
        else "evidence that is not a fact"
    )
    return f"{head}{why}{more}"


def _format_sources(item: Item) -> str:
    return f"said {item.mentioned:%Y-%m-%d}, from {format_count(len(item.sources), 'message')}"


def _format_block(title: str, lines: Sequence[str]) -> str:
    return format_section(title, lines) if lines else ""


def _format_counts(links: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(links.items(), key=lambda one: -one[1])) or "none"


def format_line(text: str) -> str:
    """Return a line under a heading."""
    return indent_text(flatten_line(text), INDENT, fold=True)


def format_section(title: str, lines: Iterable[str]) -> str:
    """Return a heading with the lines under it."""
    return "\n".join([format_strong(title), *lines])
