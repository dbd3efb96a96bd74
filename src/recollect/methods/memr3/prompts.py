"""The prompts of MemR3's two calls (sections 3.3 and 3.4, appendices A.1 and A.2). The wording is ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from recollect.answering.answers import render_present
from recollect.answering.evidence import indent_lines, join_lines
from recollect.domain.queries import Query
from recollect.methods.memr3.router import render_directive
from recollect.methods.memr3.settings import LoopSettings
from recollect.methods.memr3.state import LoopState
from recollect.methods.memr3.trace import Finding, format_numbers
from recollect.models.language import ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text

GENERATE: Final = "memr3.generate"
ANSWER: Final = "memr3.answer"

_GENERATE: Final = f"""You work out, step by step, what a memory of conversations holds on a question. Each step shows \
you what the last search found, what is known so far and what is missing. Bring both up to date, and decide what comes \
next. What searches found earlier is not shown again, and not found again either.

- evidence: what is known that bears on the question, one short statement each, with its names, numbers and times as \
exactly as the snippets give them, and no more exactly. Carry over what still holds and still bears on it: what you \
leave out is lost. A relative time counts from when it was said: "last year", said in May 2023, is 2022. Where \
snippets contradict each other, what was said later holds; what was said last holds until something else is said. \
State only what snippets say, and never what is missing.
- snippets, of each piece of evidence: the numbers of those that it rests on; what you carry over keeps its own, \
and what you put together has those of both.
- gaps: what is still missing for an answer, one thing each; nothing that is already evidence, and nothing that the \
question does not ask for. Leave out what has been found since. No gaps where nothing is missing; those that are left \
when you answer stay.
- finer, of each gap: true where the thing is known, only less exactly than might be wished, such as the year of \
something without its day. A question that does not ask for more is answered by what memory has: when something was, \
by its year. That is no gap at all.
- decision: one of those that the last line calls open.
  - retrieve: where something is missing that another search may find.
  - reflect: where what is known has to be thought through first, or no search is likely to help.
  - answer: where what is known answers the question and nothing is missing; or where that is all there is.
- query, when you retrieve: words that find what is missing by themselves, some five to fifteen of them, with names in \
place of "it" or "the date". Where one thing hangs on another, look for that other thing first; where something is \
only paraphrased, look for its name. Not what was looked for before.
- reasoning, when you reflect: the steps from what is known towards the answer, times worked out.
- draft, when you answer: the answer as far as the evidence goes, cautious where it is thin; where the evidence does \
not hold it, that it does not.

Leave the other two of query, reasoning and draft empty. {DATA_RULE}"""


def build_generate_prompt(query: Query, state: LoopState, settings: LoopSettings) -> Prompt:
    """Return the prompt for an iteration: the question, the last snippets or the last reasoning, evidence and gaps."""
    sections = (
        ("snippets", (snippet.shown for snippet in state.snippets)),
        ("evidence", _render_findings(state.known.evidence)),
        ("gaps", (f"- {join_lines(gap.missing)}{' (finer)' if gap.finer else ''}" for gap in state.known.gaps)),
        ("reasoning", filter(None, [indent_lines(state.reasoning)])),
        ("earlier_queries", (f"- {join_lines(one)}" for one in state.queries)),
    )
    parts = [
        *_fence_sections(sections),
        render_present(query),
        fence_text("question", query.text),
        render_directive(state, settings),
    ]
    return _build_prompt(query, GENERATE, _GENERATE, parts)


_ANSWER: Final = f"""You answer a question from evidence that was gathered from a memory of conversations. A draft may \
be there; the evidence decides, also against the draft.

- Say nothing about the people and events that the evidence does not say. Common knowledge may complete an answer \
whose subject the evidence names.
- Give times as dates, months or years, at the precision of the evidence: a year where it is a year, never a day that \
nobody told. Count from one time to another with care.
- reasoning: in one to three sentences, which evidence decides and how.
- answer: as short as the question allows: a name, a date, a phrase where that will do; no numbers of snippets.
- citations: of the numbers in brackets, those that the answer rests on, the most important first; none where you \
abstain.
- abstained: true only where the evidence does not hold the answer; say then in one sentence what is missing. Where it \
holds a part of the answer, or holds it less exactly than asked, give that and do not abstain; something else about \
the same person or thing is no part of it.

{DATA_RULE}"""


def build_answer_prompt(query: Query, state: LoopState) -> Prompt:
    """Return the prompt for the answer: the question, the draft and the evidence (equation 6), without snippets."""
    sections = (
        ("evidence", _render_findings(state.known.evidence)),
        ("draft", filter(None, [indent_lines(state.draft)])),
    )
    return _build_prompt(
        query, ANSWER, _ANSWER, [*_fence_sections(sections), render_present(query), fence_text("question", query.text)]
    )


def _render_findings(findings: Iterable[Finding]) -> Iterator[str]:
    return (f"- {join_lines(one.fact)} {format_numbers(one.snippets)}" for one in findings)


def _fence_sections(sections: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Yield the sections that have lines, each fenced, because what a model has said about memory may quote it."""
    for name, lines in sections:
        if text := "\n".join(lines):
            yield fence_text(name, text)


def _build_prompt(query: Query, operation: str, system: str, parts: Iterable[str]) -> Prompt:
    return Prompt(
        role=ModelRole.ANSWER, operation=operation, subject=query.text, system=system, text="\n\n".join(parts)
    )
