"""The prompts of REMem's agent, for each step and for the end (section 3.2, figures 5 to 8). The wording is ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from recollect.answering.answers import render_present
from recollect.answering.evidence import indent_lines
from recollect.domain.queries import Query
from recollect.methods.remem.observations import NumberedItem, Observation, render_call, render_observation
from recollect.methods.remem.schemas import TOOLS, Tool
from recollect.models.language import ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text

STEP: Final = "remem.step"
ANSWER: Final = "remem.answer"
SINGLE: Final = "remem.single"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedStep:
    """A step that was done: its thought, and the result of its call. ``seconds`` is the time of both together."""

    thought: str
    observation: Observation
    seconds: float

    @property
    def call(self) -> str:
        """Return the call in one line."""
        return render_call(self.observation.tool, self.observation.arguments)


def _describe_arguments() -> str:
    each = {one.name: one.description for tool in TOOLS for one in tool.arguments}
    return "\n".join(f"- {name}: {description}" for name, description in each.items())


def _describe_tools() -> str:
    return "\n".join(
        f"- {one.tool}({', '.join(argument.name for argument in one.arguments)}): {one.description}" for one in TOOLS
    )


_MEMORY: Final = """\
The memory holds gists, which are sentences on single events that begin with the time at which they were told, and \
facts, which are triples (subject, predicate, object) with the time at which they held and the time at which they were \
told. Each has a number in brackets that stays the same."""

_STEP: Final = f"""You search a memory step by step until a question can be answered. {_MEMORY} At each step you call \
one tool, and see what comes of it.

Tools:
{_describe_tools()}

Their arguments:
{_describe_arguments()}

How to search:
- Look around first, with {Tool.SEMANTIC}; with {Tool.LEXICAL} where the question is about names or identifiers. What \
these give is only the best of what there is: it shows how things are called, by which phrases, and when they were. A \
question that asks for several things is taken apart, and looked for one by one.
- Then go on from what was found: {Tool.GIST} for more on what a gist tells; {Tool.ENTITY} where facts of the very \
kind that is wanted were shown, with their phrases copied to the letter. Do not guess phrases.
- What comes first, last or in some place, and how many there are, is asked of {Tool.ENTITY}, by ordering, limit, \
offset and aggregation. A list that is cut is not to be counted.
- Read how many there are in all: "3 of 17" means that 14 are not shown. Nothing found is also an answer: other words, \
another tool, wider times.
- Once enough is known, or nothing more is likely to be found: {Tool.ANSWER}.

How to set times, from what begins when and ends when:
- begins after 1950: start_time 1950, start_operator gt
- ends before 1960: end_time 1960, end_operator lt
- goes on in 1955: start_time 1955, start_operator le, end_time 1955, end_operator ge
- lies wholly in 1950 to 1960: start_time 1950, start_operator ge, end_time 1960, end_operator le
- overlaps 1950 to 1960: start_time 1960, start_operator le, end_time 1950, end_operator ge. The later date is the \
start_time here: it begins before the stretch is over, and ends after the stretch has begun.
What still goes on ends after all times, and what has no time of its own stands at the time at which it was told.
Whether "before" and "after" mean to include the time itself is for you to see from the question: le and ge do, lt and \
gt do not.

What to give:
- thought: in a sentence or two, what is known by now, what is missing, and what this call is to find.
- tool: its name, to the letter.
- The arguments of that tool; all others stay empty. A call that was made already is not made again.

{DATA_RULE}"""


def build_step_prompt(
    query: Query, steps_done: Sequence[CompletedStep], shown: Iterable[NumberedItem], step: int, steps: int
) -> Prompt:
    """Return the prompt for a step: all steps so far, the question, and the number of this step among all.

    ``shown`` are the observed items that fit into the prompt. ``step`` counts from 1 to ``steps``.
    """
    numbers = frozenset(one.number for one in shown)
    history = [line for number, one in enumerate(steps_done, start=1) for line in _render_step(number, one, numbers)]
    parts = [*history, render_present(query), fence_text("question", query.text), _render_directive(step, steps)]
    return _build_prompt(query, STEP, _STEP, parts)


def _render_step(number: int, done: CompletedStep, numbers: frozenset[int]) -> Iterator[str]:
    yield f"Step {number}:"
    yield fence_text("thought", indent_lines(done.thought))
    yield fence_text("call", done.call)
    yield fence_text("observation", render_observation(done.observation, numbers))


def _render_directive(step: int, steps: int) -> str:
    if step == steps:
        return f"This is step {step} of {steps}, the last one: only {Tool.ANSWER} is left."
    return f"This is step {step} of {steps}; the last one can only be {Tool.ANSWER}."


_RULES: Final = f"""\
- Say nothing about the people, things and events that the evidence does not say. Common knowledge may complete an \
answer whose subject the evidence names.
- Work out times from the dates in the evidence. When something was told is not when it happened. Give times as \
exactly as the evidence does, and no more exactly.
- Where pieces of evidence contradict each other, the one that was told last holds, unless the past is asked for.
- What was counted was counted over all that there is; the facts shown beside it may be only some of them.
{{fields}}
- answer: as short as the question allows: a name, a date, a number, a phrase where that will do; in the form that it \
asks for; no numbers of evidence.
- abstained: true where the evidence does not hold the answer, also where it only comes near, or where the question \
takes something for granted that the evidence does not say. Say then that there is no information, and on what. Where \
the evidence holds a part of the answer, give that and do not abstain.
- citations: the numbers in brackets of what the answer rests on, the most important first; none where you abstain.

{DATA_RULE}"""

_REASONING: Final = "- reasoning: in one to three sentences, which evidence decides and how."

_TISER: Final = """\
- reasoning: step by step, how the evidence leads to an answer.
- timeline: what the evidence tells that bears on the question, an entry an event, each with its time, the earliest \
first.
- reflection: hold the reasoning against the timeline: is an event missing, does an order or a duration not fit, was \
something counted wrongly? Say what has to be mended, and mend it; the answer comes after that."""


def _build_answer_system(beginning: str, *, tiser: bool) -> str:
    return f"{beginning}\n\n{_RULES.format(fields=_TISER if tiser else _REASONING)}"


_SYNTHESIS: Final = f"""You answer a question from what a search in a memory has found. {_MEMORY} What the search \
thought on its way, and the answer that it would give, may be there too: the evidence decides, also against them."""

_SINGLE: Final = f"""You answer a question from what a memory holds that is nearest to it in meaning. {_MEMORY}"""


def build_answer_prompt(
    query: Query, done: Sequence[CompletedStep], shown: Sequence[NumberedItem], draft: str, *, tiser: bool = False
) -> Prompt:
    """Return the prompt for the answer: all the evidence that fits, counts, thoughts, and the agent's draft."""
    counts = [f"{one.call}: {one.observation.number}" for one in done if one.observation.number is not None]
    sections = (
        ("evidence", [one.render for one in shown]),
        ("counted", counts),
        ("thoughts", [f"- {indent_lines(one.thought)}" for one in done if one.thought.strip()]),
        ("draft", [indent_lines(draft)] if draft.strip() else []),
    )
    return _build_prompt(query, ANSWER, _build_answer_system(_SYNTHESIS, tiser=tiser), _render_request(query, sections))


def build_single_prompt(query: Query, shown: Sequence[NumberedItem]) -> Prompt:
    """Return the prompt for an answer in one pass, with the gists and facts that are nearest to the question."""
    sections = (("evidence", [one.render for one in shown]),)
    return _build_prompt(query, SINGLE, _build_answer_system(_SINGLE, tiser=False), _render_request(query, sections))


def _render_request(query: Query, sections: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the sections that have lines, each fenced, and then the present and the question."""
    told_ = [fence_text(name, "\n".join(lines)) for name, lines in sections if lines]
    return [*told_, render_present(query), fence_text("question", query.text)]


def _build_prompt(query: Query, operation: str, system: str, parts: Iterable[str]) -> Prompt:
    return Prompt(
        role=ModelRole.ANSWER, operation=operation, subject=query.text, system=system, text="\n\n".join(parts)
    )
