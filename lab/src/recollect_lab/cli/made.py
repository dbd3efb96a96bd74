"""What a recipe made of a conversation, for a reader: a heading and a few lines for each kind of memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.cli.output import count, cut, faint, indented, one_line, strong, width

if TYPE_CHECKING:
    from recollect.domain.items import Item
    from recollect.domain.opinions import Opinion, OpinionStep
    from recollect_lab.rehearsals.rehearsal import Answered, RehearsalResult

FACTS, GISTS, OBSERVATIONS, EPISODES, SUMMARIES, OPINIONS, STEPS = 4, 4, 3, 3, 2, 3, 5
"""How many of each are shown."""

SUMMARY_CHARACTERS = 400

INDENT = "   "
DEEPER = INDENT * 2


def made_blocks(result: RehearsalResult, answers: Sequence[Answered]) -> list[str]:
    """A block for each kind of memory that there is any of; what ``answers`` rest on comes first in it."""
    from recollect.domain.items import ItemKind

    blocks = [
        facts_block(result.of(ItemKind.FACT), answers),
        gists_block(result.of(ItemKind.GIST), answers),
        triples_block(result.of(ItemKind.TRIPLE), answers),
        observations_block(result.of(ItemKind.OBSERVATION), answers),
        episodes_block(result.of(ItemKind.EPISODE), answers),
        semantic_block(result.of(ItemKind.SEMANTIC), answers),
        summaries_block(result.of(ItemKind.SUMMARY)),
        opinions_block(result),
        *(reflection_block(question, answer.text) for question, answer in result.reflected[-1:]),
    ]
    links = [headed("How it is linked", [line(_counts(result.links))])] if result.links else []
    return [*(block for block in blocks if block), *links]


def facts_block(facts: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few facts, in the order of time."""
    title = f"What it knows: {count(len(facts), 'fact')}, read from the messages"
    shown = _first_cited(facts, answers, FACTS)
    return _block(title, [_fact(fact) for fact in sorted(shown, key=lambda fact: fact.mentioned)])


def gists_block(gists: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few gists, in the order of time."""
    title = f"What it recollects: {count(len(gists), 'gist')}, an event each"
    shown = sorted(_first_cited(gists, answers, GISTS), key=lambda gist: gist.mentioned)
    return _block(title, [_known(one.text, _happened(one) + f"from {', '.join(one.sources)}") for one in shown])


def triples_block(triples: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few facts of three phrases, in the order of time."""
    title = f"By which phrases it is joined: {count(len(triples), 'fact')}"
    shown = sorted(_first_cited(triples, answers, FACTS), key=lambda one: one.mentioned)
    return _block(title, [_known(_phrases(one), _happened(one) + _from_messages(one)) for one in shown])


def _phrases(item: Item) -> str:
    triple = item.triple
    return item.text if triple is None else f"({triple.subject}, {triple.predicate}, {triple.object})"


def observations_block(observations: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few of the summaries of what is known of somebody."""
    title = f"What it has summed up: {count(len(observations), 'observation')}"
    shown = _first_cited(observations, answers, OBSERVATIONS)
    return _block(title, [_known(one.text, f"from {count(len(one.derived_from), 'fact')}") for one in shown])


def episodes_block(episodes: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few episodes, each with why it was told and from how many messages."""
    title = f"What recurred: {count(len(episodes), 'episode')}"
    shown = _first_cited(episodes, answers, EPISODES)
    return _block(title, [_known(one.text, f"{one.label}; {_from_messages(one)}") for one in shown])


def semantic_block(facts: Sequence[Item], answers: Sequence[Answered]) -> str:
    """A few facts that episodes left out."""
    title = f"What it keeps of the particulars: {count(len(facts), 'semantic fact')}"
    shown = _first_cited(facts, answers, FACTS)
    return _block(title, [_known(one.text, f"{one.label}; {_from_messages(one)}") for one in shown])


def summaries_block(summaries: Sequence[Item]) -> str:
    """The beginnings of a few summaries of segments."""
    title = f"What leads to its segments: {len(summaries)} {'summary' if len(summaries) == 1 else 'summaries'}"
    shown = sorted(summaries, key=lambda one: one.order)[:SUMMARIES]
    lines = [_known(cut(one.text, SUMMARY_CHARACTERS), f"by {_maker(one)}; {_from_messages(one)}") for one in shown]
    return _block(title, lines)


def _maker(summary: Item) -> str:
    return "rule: an extract" if summary.label == "extractive" else "a model"


def opinions_block(result: RehearsalResult) -> str:
    """The opinions that moved most often, step by step, with the words of what moved them."""
    if not result.opinions:
        return ""
    title = f"What it believes: {count(len(result.opinions), 'opinion')}, each with how it came about"
    known = {item.id: item for item in result.made}
    moved = sorted(result.opinions, key=lambda opinion: -len(opinion.steps))[:OPINIONS]
    return headed(title, [_opinion(opinion, known) for opinion in moved])


def reflection_block(question: str, text: str) -> str:
    """What the agent said when it was asked for its view."""
    return headed(f"Asked for its view: {one_line(question)}", [indented(text, INDENT, fold=True)])


def _first_cited(items: Sequence[Item], answers: Sequence[Answered], most: int) -> list[Item]:
    """The items that answers cite, then the others."""
    cited = {citation.id for one in answers for citation in one.answer.citations}
    return sorted(items, key=lambda item: item.id not in cited)[:most]


def _happened(item: Item) -> str:
    """When it happened, as the beginning of a line on it; "" where no time is known."""
    from recollect.text.when import describe

    return f"happened {describe(item.occurred)}, " if item.occurred else ""


def _fact(fact: Item) -> str:
    kind = fact.network.value if fact.network else fact.kind.value
    return _known(
        fact.text, f"{kind} fact, {_happened(fact)}said {fact.mentioned:%Y-%m-%d} in {', '.join(fact.sources)}"
    )


def _known(text: str, foot: str) -> str:
    return f"{indented(one_line(text), INDENT, fold=True)}\n{faint(indented(foot, DEEPER, fold=True))}"


def _opinion(opinion: Opinion, known: Mapping[str, Item]) -> str:
    """An opinion and its first and last steps; where a step changed the words, they stand under it."""
    lines = [indented(f"believed {opinion.confidence:.2f}: {opinion.text}", INDENT, fold=True)]
    first, *later = opinion.steps
    lines.append(faint(_step(first, known)))
    if len(later) > STEPS:
        lines.append(faint(f"{DEEPER}... {count(len(later) - STEPS, 'step')} left out"))
    for before, step in list(pairwise(opinion.steps))[-STEPS:]:
        lines.append(faint(_step(step, known)))
        if before.text != step.text != opinion.text:
            lines.append(faint(indented(f"then believed: {step.text}", DEEPER * 2, fold=True)))
    return "\n".join(lines)


def _step(step: OpinionStep, known: Mapping[str, Item]) -> str:
    texts = [known[id_].text for id_ in step.evidence if id_ in known]
    head = f"{DEEPER}{step.at:%Y-%m-%d}  {step.confidence:.2f}  {step.assessment.value}: "
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    why = cut(texts[0], max(width() - len(head) - len(more), 20)) if texts else "evidence that is not a fact"
    return f"{head}{why}{more}"


def _from_messages(item: Item) -> str:
    return f"said {item.mentioned:%Y-%m-%d}, from {count(len(item.sources), 'message')}"


def _block(title: str, lines: Sequence[str]) -> str:
    return headed(title, lines) if lines else ""


def _counts(links: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(links.items(), key=lambda one: -one[1])) or "none"


def line(text: str) -> str:
    """A line under a heading."""
    return indented(one_line(text), INDENT, fold=True)


def headed(title: str, lines: Iterable[str]) -> str:
    """A heading with what stands under it."""
    return "\n".join([strong(title), *lines])
