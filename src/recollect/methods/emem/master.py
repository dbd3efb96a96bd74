"""The prompts and replies of the master (E-mem, section 3.4). It sees quotes and never a segment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from recollect.answering.answers import render_present, require_answer
from recollect.answering.evidence import indent_lines, join_lines
from recollect.domain.queries import Query
from recollect.methods.emem.assistants import AssistantReport
from recollect.methods.emem.quotes import Quote
from recollect.models.language import ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text

ANSWER: Final = "emem.answer"
PLAN: Final = "emem.plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterReply:
    """The master's answer (equation 7). ``citations`` are the numbers of the quotes behind it."""

    __pydantic_config__: ClassVar = {"title": "Aggregated"}  # its name in requests to a model, recorded ones too

    trace: str
    answer: str
    abstained: bool
    citations: tuple[int, ...]

    def __post_init__(self) -> None:
        require_answer(self.answer, abstained=self.abstained, citations=self.citations)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPlan:
    """The decision after a pass: the quotes are enough, or another question for the segments (equation 8)."""

    __pydantic_config__: ClassVar = {"title": "Plan"}  # its name in requests to a model, recorded ones too

    known: str
    enough: bool
    query: str

    def __post_init__(self) -> None:
        if not self.enough and not self.query.strip():
            raise ValueError("the quotes are not enough and nothing is to be asked: give the next question")


def require_quotes(numbers: Iterable[int], quotes: Sequence[Quote]) -> None:
    """Raise ValueError if one of the numbers belongs to no quote."""
    for number in numbers:
        if not 1 <= number <= len(quotes):
            raise ValueError(f"there is no quote {number}; they are numbered 1 to {len(quotes)}")


_EXPLAINED: Final = """What the segments of a long conversation say on a question was looked for by assistants, each \
of whom has read one segment and nothing else:
- quotes: what was said, word for word, segment by segment; each with its number, its time, and who said it. Segments \
are in the order of time, and so are the quotes of one.
- hints: what the assistants make of the quotes, by the quotes' numbers and by segment. A hint proves nothing: use it \
to see what a quote may mean, and hold it against the quote's own words."""

_ANSWERING: Final = f"""You answer a question from a memory of conversations, for the one whose memory it is.

{_EXPLAINED}

How to answer:
- Only quotes count for what is said of people, things and events; never fill a gap there. Common knowledge may \
complete an answer whose subject the quotes name.
- Leave aside quotes that are not about the question.
- Put together what belongs together, across segments: one quote may say when, another where; one "my sister", another \
her name. Say in trace by which words the two are joined, and join nothing that only might belong together.
- Where quotes do not agree, the one that was said later holds now; the earlier one is told only where the past is \
asked for. What was planned did not happen until a quote says so.
- Work out times from the time of the quote: "last week" is the week before it was said. Count days, months and years \
carefully; the present is given for questions that reckon from it.
- Use the quotes' own words for what they name, and names instead of pronouns; "I" is the quote's speaker.
- trace: in one to four sentences, which quotes decide, how they are joined, and which statement, if any, gave way to \
a later one.
- answer: as short as the question allows, a name, a date or a phrase where that will do, without numbers of quotes.
- citations: the numbers of the quotes that the answer rests on, the most important first; where you abstain, of those \
that come nearest, or none.
- abstained: true when the quotes do not hold the answer, or when the question takes something for granted that they \
do not say. The answer then says in one sentence what is missing. Where they hold a part of the answer, give that \
part, say what is missing, and do not abstain.

The question stands between <question> and </question>. {DATA_RULE}"""

_PLANNING: Final = f"""You decide whether a question can be answered from what was found in a memory of conversations, \
and if not, what to look for next.

{_EXPLAINED}

- known: in one to three sentences, what the quotes already settle, and what is missing.
- enough: true when the quotes answer the question, or when nothing that is worth looking for is left.
- query: where enough is false, one question for the segments, about the one thing that is missing most. Those who \
read it know neither the question nor the quotes: name people, things and times in full, as the quotes name them. Ask \
in other words and for something else than what was asked before; that stands in <asked_before>. Else leave it empty.

The question stands between <question> and </question>. {DATA_RULE}"""


def build_answer_prompt(query: Query, quotes: Sequence[Quote], assisted: Sequence[AssistantReport]) -> Prompt:
    """Return the prompt with the question and all quotes, numbered from 1 in their order."""
    parts = [
        render_quotes(quotes),
        *_render_hints(quotes, assisted),
        render_present(query),
        fence_text("question", query.text),
    ]
    return Prompt(
        role=ModelRole.ANSWER, operation=ANSWER, subject=query.text, system=_ANSWERING, text="\n\n".join(parts)
    )


def build_plan_prompt(
    query: Query, asked: Sequence[str], quotes: Sequence[Quote], assisted: Sequence[AssistantReport]
) -> Prompt:
    """Return the prompt between two passes. ``asked`` are the questions to the segments so far."""
    before = fence_text("asked_before", "\n".join(f"- {indent_lines(question)}" for question in asked))
    found = [render_quotes(quotes), *_render_hints(quotes, assisted)] if quotes else ["No quote was found so far."]
    parts = [*found, before, render_present(query), fence_text("question", query.text)]
    return Prompt(
        role=ModelRole.ANSWER,
        operation=PLAN,
        subject=f"{query.text} (after {len(asked)})",
        system=_PLANNING,
        text="\n\n".join(parts),
    )


def render_quotes(quotes: Sequence[Quote]) -> str:
    """Return the quotes, numbered from 1, under their segments. No text of a quote can close its section."""
    lines: list[str] = []
    before = ""
    for number, quote in enumerate(quotes, start=1):
        if quote.place != before:
            lines.append(f"{quote.place}:")
            before = quote.place
        lines.append(quote.render(number))
    return fence_text("quotes", "\n".join(lines))


def _render_hints(quotes: Sequence[Quote], assisted: Sequence[AssistantReport]) -> list[str]:
    on_quotes = [f"[{n}] {join_lines(quote.shows)}" for n, quote in enumerate(quotes, start=1) if quote.shows]
    inferred = [f"segment {one.segment}: {join_lines(one.inference)}" for one in assisted if one.inference]
    return [fence_text("hints", "\n".join((*on_quotes, *inferred)))] if on_quotes or inferred else []
