"""The first pass: the prompt with the evidence of one recall, and the model's reply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from recollect.answering.answers import CitedReply, render_request
from recollect.answering.evidence import RAW_WORDS_EXPLAINED, GatheredEvidence, SectionLayout
from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Query
from recollect.methods.memr3.trace import Finding, Gap
from recollect.methods.memr3.tracker import GenerationReply
from recollect.models.language import ModelRole, Prompt
from recollect.text.fencing import DATA_RULE

OPERATION: Final = "default.answer"


class FirstPassSection(StrEnum):
    """The section of the prompt for an entry: what was derived from the words, a belief, or the words themselves."""

    NOTES = "notes"
    OPINIONS = "opinions"
    WORDS = "raw_words"


def choose_section(item: Item) -> FirstPassSection:
    """Return the section for an item. A belief is never mixed with what is known."""
    if item.kind in RAW_WORDS_EXPLAINED:
        return FirstPassSection.WORDS
    return FirstPassSection.OPINIONS if item.kind is ItemKind.OPINION else FirstPassSection.NOTES


SECTIONS: Final = SectionLayout(names=tuple(FirstPassSection), section_of=choose_section)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPassReply(CitedReply):
    """An answer from the results of one search, and what a better answer would need."""

    __pydantic_config__: ClassVar = {"title": "FirstPass"}  # its name in requests to a model, recorded ones too

    gaps: tuple[Gap, ...] = ()
    whole: bool = False
    known: tuple[Finding, ...] = ()
    query: str = ""

    def __post_init__(self) -> None:
        CitedReply.__post_init__(self)  # super() fails, because slots=True replaces the class
        if self.is_open:
            if not self.query.strip():
                raise ValueError("memory is to be searched again, and there is no query: give words to look for")
            _ = self.to_generation

    @property
    def is_open(self) -> bool:
        """Return true if something has to be searched for or read again."""
        return self.abstained or self.whole or any(not gap.finer for gap in self.gaps)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what the entries say about the question.

        If the reply does not say it, return the answer itself, if there is one.
        """
        if self.known or self.abstained:
            return self.known
        return (Finding(fact=self.answer, snippets=self.citations),)

    @property
    def to_generation(self) -> GenerationReply:
        """Return the reply as the first generation of MemR3's loop. The loop continues with a retrieval.

        Raises:
            ValueError: the loop would not accept the reply.
        """
        return GenerationReply(evidence=self.findings, gaps=self.gaps, decision="retrieve", query=self.query)


def require_known_numbers(reply: FirstPassReply, gathered: GatheredEvidence) -> None:
    """Raise ValueError if a reply names an entry that was not shown."""
    gathered.require_entries(_cited_numbers(reply))


def _cited_numbers(reply: FirstPassReply) -> Iterable[int]:
    yield from reply.citations
    for finding in reply.known:
        yield from finding.snippets


_SYSTEM: Final = f"""You answer a question from a memory of conversations, for the one whose memory it is. Memory was \
searched once, and the entries are what came nearest to the question. It can be searched again, and whole passages of \
the conversations can be read again: say whether that is needed.

The entries are numbered throughout, in these sections; one without entries is left out:
- notes: facts, episodes and summaries that were made of what was said, with the time that they tell of where that is \
known.
- opinions: what you believe, with how firmly (1 is certain). A belief is no fact, and proves nothing.
- raw_words: what was said, word for word, by whom and when. What was said right before and after it may stand in \
brackets below it.

How to answer:
- Use the entries for everything about the people, things and events they tell of; never fill a gap there. Common \
knowledge may complete an answer whose subject the entries name.
- When something was said is not when it happened. Work out times from the dates of the entries, "last week" from the \
day it was said, and count days, months and years carefully; the present is given for questions that reckon from it. \
Give a time at the precision of the entries: a year where it is a year, and where something was told as news without \
a time, the day on which it was told.
- Where entries contradict each other, what was said later holds, unless the past is asked for; what was said last \
holds until something else is said. What was planned has not happened until an entry says so.
- Where advice is asked for, go by what these people like, have done and cannot do.
- reasoning: in one to three sentences, which entries decide and how.
- answer: as short as the question allows: a name, a date, a phrase where that will do; no numbers of entries.
- abstained: true where the entries do not hold the answer, or only come near it, or where the question takes \
something for granted that they do not say. The answer says then in one sentence what is missing. Where they hold a \
part of it, give that part and do not abstain.
- citations: the numbers of the entries that the answer rests on, the most important first; none only where you \
abstain.

What else would be needed:
- gaps: what the question asks for and the entries do not say, one thing each. None where the answer is complete: most \
answers are. finer is true where the thing is known, only less exactly than might be wished, such as the year of \
something without its day; where the question does not ask for more, that is no gap at all.
- whole: true where no search for single entries can bring what is asked for, and whole passages have to be read: a \
list of all that was said on something, a summary of a long stretch, how one thing led to another; or where the \
entries were plainly torn out of a passage that would explain them. Else false.
- known: only where you abstain, a gap is not finer, or whole is true: what the entries say that bears on the \
question, one short statement each, with its names, numbers and times, and as its snippets the numbers of the entries \
that say it. What you leave out here is not seen again. Else empty.
- query: in the same cases, some five to fifteen words that find what is missing by themselves, with names in place of \
"it" or "the date", other than the question's own where you can. Else empty.

The question stands between <question> and </question>. {DATA_RULE}"""


def build_first_prompt(query: Query, gathered: GatheredEvidence) -> Prompt:
    """Return the prompt with the question and the evidence."""
    return Prompt(
        role=ModelRole.ANSWER,
        operation=OPERATION,
        subject=query.text,
        system=_SYSTEM,
        text=render_request(query, gathered),
    )
