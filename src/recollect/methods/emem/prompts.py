"""The prompts and replies of the small model that reads a segment (E-mem, equation 6, appendix E).

Both tasks, summarizing and answering, share one system text, and the segment comes before the task. So all prompts
about a segment begin with the same characters, and a model that keeps its state reads a segment once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from recollect.answering.answers import render_present
from recollect.domain.queries import Query
from recollect.methods.emem.quotes import render_segment
from recollect.methods.emem.segment_view import SegmentView
from recollect.models.language import ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text

ASSIST: Final = "emem.assist"
SUMMARIZE: Final = "emem.summarise"  # jobs and ledgers of banks have this name

MOST_QUOTES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantQuote:
    """Words that an assistant has copied, and what they show."""

    __pydantic_config__: ClassVar = {"title": "Quoted"}  # its name in requests to a model, recorded ones too

    words: str
    shows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantReply:
    """An assistant's reply about a segment (equation 6). ``inference`` is its conclusion from the quotes."""

    __pydantic_config__: ClassVar = {"title": "Finding"}  # its name in requests to a model, recorded ones too

    relevant: bool
    quotes: tuple[AssistantQuote, ...]
    inference: str

    def __post_init__(self) -> None:
        if self.relevant and not self.quotes:
            raise ValueError("relevant is true and no quote shows it: copy the words, or say that nothing is relevant")
        if self.quotes and not self.relevant:
            raise ValueError("relevant is false and there are quotes: leave them out, or say that they are relevant")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReply:
    """A summary of a segment. ``events`` are sentences, in the order of the events."""

    __pydantic_config__: ClassVar = {"title": "Summary"}  # its name in requests to a model, recorded ones too

    speakers: tuple[str, ...]
    period: str
    key_items: tuple[str, ...]
    events: tuple[str, ...]

    def __post_init__(self) -> None:
        if not any(event.strip() for event in self.events):
            raise ValueError("no event is told: say in a sentence what is talked of, even where little happens")


SYSTEM: Final = f"""You are the keeper of one segment of a long conversation. You have this segment and nothing else; \
other keepers have the rest. The segment stands between <segment> and </segment>: a line for each message, with the \
time in brackets, the speaker and the words; the words' further lines are indented, and one in square brackets says \
what a picture shows that the speaker sent. It may begin or end in the middle of a message. After it comes your task, \
one of two.

The task "answer": a question follows. Find what your segment contributes to it, also where that is no more than a \
piece which others will complete: a time, a place, a name, who is meant by "my sister", what became of a plan.
- relevant: whether the segment holds something that the question needs: its answer, a part of it, or what tells \
whom or what it means. What merely touches its subject is nothing. Most segments hold nothing; then say false, give no \
quotes, and leave inference empty.
- quotes: at most {MOST_QUOTES}, what helps most first. words: copied from the segment exactly, sign by sign, with \
its spelling and its mistakes, nothing left out in the middle, nothing put right; as little as carries the meaning, \
from a clause to a whole message. Where the same words stand in the segment several times, copy the time and the name \
before them too. Words that are not found in the segment are thrown away. shows: in one sentence what the quote tells \
about the question, with names instead of pronouns, as far as the segment names who is meant, and with relative times \
worked out from the time of the message.
- inference: in one to three sentences what the quotes together say on the question, and what is missing. For what \
happened it rests on the segment alone; common knowledge may join a quote to the question, such as what a food is made \
of. Say which statement is the later one where two do not agree.

The task "sum up": say what the segment is about, so that it can be found by that later.
- speakers: the names of those who speak, then of others who matter to what is told, each with a word or two on who \
they are where the segment says it.
- period: the dates from which to which the messages go, and other times that are spoken of.
- key_items: things, places, works, groups and pets that have a name or matter, with the name that is used for them.
- events: what happened, was planned, decided, found out or liked, a sentence each, with names, places and dates, in \
the order in which it was told. At most twenty.
Tell only what the segment says.

{DATA_RULE}"""


def split_for_prefix(reading: SegmentView) -> tuple[str, str]:
    """Return the beginning of a prompt about a segment, as prefix and text. A segment that still grows is not a
    prefix.
    """
    begin = f"{render_segment(reading)}\n\n"
    return (begin, "") if reading.stable else ("", begin)


def build_assist_prompt(reading: SegmentView, query: Query) -> Prompt:
    """Return the prompt with a segment and a question: the segment first, the question last."""
    prefix, begin = split_for_prefix(reading)
    return Prompt(
        role=ModelRole.ASSIST,
        operation=ASSIST,
        subject=f"{query.text} ({reading.id})",
        system=SYSTEM,
        prefix=prefix,
        text=f'{begin}Your task: "answer".\n\n{render_present(query)}\n\n{fence_text("question", query.text)}',
    )


def build_summary_prompt(reading: SegmentView) -> Prompt:
    """Return the prompt that asks for a summary of a sealed segment."""
    prefix, begin = split_for_prefix(reading)
    return Prompt(
        role=ModelRole.ASSIST,
        operation=SUMMARIZE,
        subject=reading.id,
        system=SYSTEM,
        prefix=prefix,
        text=f'{begin}Your task: "sum up".',
    )
