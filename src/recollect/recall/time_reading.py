"""Read the time a question asks about if the rules could not: see if it names one, and ask a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from recollect.domain.queries import Query, SearchProbe
from recollect.models.embedder import Embedder
from recollect.models.time_reader import TimeReader
from recollect.recall.analyze import ParsedQuestion, build_probe, read_question
from recollect.recall.settings import Arm, RecallSettings
from recollect.text.time_expressions import find_times
from recollect.text.time_expressions.words import COUNT, DAY, FOLLOW, FULL_WEEKDAY, HOLIDAY, MONTH, SEASON, YEAR, S

_LONGEST: Final = 2_000

# Holidays without a fixed day. No rule reads them.
_FEAST: Final = (
    r"(?:easter|thanksgiving|hanukkah|passover|ramadan|eid|diwali|(?:lunar|chinese)\snew\syear|new\syear|"
    r"mother['’]?s\sday|father['’]?s\sday|labou?r\sday|memorial\sday|independence\sday|the\sholidays)"
)
_PART: Final = (
    rf"(?:early|late|mid|(?:the{S})?(?:beginning|start|first|second|third|last|middle|end)(?:{S}\w{{3,7}})?{S}of)"
)
_DAY: Final = rf"{DAY}(?:st|nd|rd|th)?\b"
_NO_PLACE: Final = rf"(?!{S}(?:street|st|road|rd|avenue|hall|park)\b)"
_NAMED: Final = (
    rf"(?:{_FEAST}\b|{HOLIDAY}\b|{FULL_WEEKDAY}\b|{SEASON}\b|"
    rf"(?:{_DAY}{S}(?:of{S})?)?{MONTH}(?:{S}{_DAY})?{_NO_PLACE}|(?:{YEAR}s?|['’]?[1-9]0s)\b(?![%-]))"
    rf"(?:{S}{YEAR}\b)?"
)
_HABIT: Final = r"(?<!every\s)(?<!each\s)"
_STRETCH: Final = r"(?:week|weekend|fortnight|month|quarter|semester|term|year|decade|century)"
_UNIT: Final = r"(?:day|night|week|weekend|fortnight|month|year)"
# Words in the place of a time. Words of a habit ("on Mondays"), of a length, or of a time that depends on another ("the
# next day") are left out. A call of a model costs a second, so words that may not mean a time are left out too.
_TELLING: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_HABIT}\b(?:in|on|over|at|during|throughout|since|until|till|before|after|by|around|about|back{S}in|last|this|next|"
        rf"past|coming|previous|{_PART}){S}(?:the{S})?(?:(?:last|this|next|past|coming|previous|{_PART})[\s-])?"
        rf"{_NAMED}{FOLLOW}",
        rf"\b(?:mid|early|late)-{MONTH}",
        rf"{_HABIT}(?<!my\s)\b(?:last|this|next|past|coming|previous|current){S}{_STRETCH}\b{FOLLOW}",
        rf"\b(?:beginning|start|middle|end|half){S}of{S}(?:the|last|this|next){S}{_STRETCH}\b",
        rf"\b(?:half|{COUNT})\b[\w\s/-]{{0,20}}\b{_UNIT}s?(?:{S}and{S}a{S}half)?{S}(?:ago|back)\b",
        rf"\b(?:on|by|since|until|till|before|after|around){S}the{S}(?:3[01]|[12]\d|[1-9])(?:st|nd|rd|th)\b{FOLLOW}",
        rf"\bwinter{S}(?:of{S})?{YEAR}\b",
        rf"\bthe{S}other{S}(?:day|night|week|weekend|morning|evening)\b",
        rf"(?<![\w$€£/.-])\d{{1,2}}([/.-])\d{{1,2}}\1(?:{YEAR}|\d\d)\b(?![/.-]\d)",
        rf"(?<![\w$€£/.-]){YEAR}[-/](?:0[1-9]|1[0-2])\b(?![/.-]\d)",
    )
)
# A question for a length of time, or for one of two times, asks about no given time.
_MEASURING: Final = re.compile(
    r"\bhow\s(?:long|old|much\stime|many\s(?:minutes|hours|days|nights|weeks|weekends|months|years))\b"
    r"|\b(?:before\sor\safter|after\sor\sbefore|as\sof)\b|\bor\s(?:in|on|at|last|this|next)\b",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedQuestion:
    """A question with everything that an arm needs. ``notes`` say how its time was read, or why it was not."""

    probe: SearchProbe
    notes: tuple[str, ...] = ()


async def analyse_question(
    query: Query, speakers: Sequence[str], embedder: Embedder, time_reader: TimeReader | None, settings: RecallSettings
) -> AnalysedQuestion:
    """Read a question and embed it: the people, the time and the subject that it asks about.

    This is done once for each text that is searched for, however many tiers are searched.

    Raises:
        ModelUnavailable: the embedder could not be reached.
    """
    question = await read_question(query, speakers)
    question, notes = await read_question_time(question, query, time_reader, settings)
    return AnalysedQuestion(probe=await build_probe(question, embedder), notes=notes)


async def read_question_time(
    question: ParsedQuestion, query: Query, reader: TimeReader | None, settings: RecallSettings
) -> tuple[ParsedQuestion, tuple[str, ...]]:
    """Return the question with the time that a model reads in it, and a note on this or on the failure.

    The model is asked only if a temporal arm could use the answer and the rules found no time
    (:func:`has_unread_time`). If anything fails, the question stays as it was.
    """
    if reader is None or question.during is not None or Arm.TEMPORAL not in settings.arms:
        return question, ()
    if not has_unread_time(query):
        return question, ()
    deadline = asyncio.timeout(settings.read_time_deadline_s)
    try:
        async with deadline:
            during = await reader.read(query.text, query.now)
    except Exception as exc:  # the other arms need no time
        told = f"{type(exc).__name__}: {exc}"
        if isinstance(exc, TimeoutError) and deadline.expired():
            told = f"no answer within {settings.read_time_deadline_s} s"
        return question, (f"the time asked about could not be read by {reader.name}: {told}",)
    if during is None:
        return question, ()
    return replace(question, during=during), (f"the time asked about was read by {reader.name}",)


def has_unread_time(query: Query) -> bool:
    """Return true if an English question names a time for which the rules find no interval.

    If the rules read any time, their decision is final. A model must not choose between two times that exclude each
    other.
    """
    text = query.text[:_LONGEST]
    if _MEASURING.search(text) or not any(telling.search(text) for telling in _TELLING):
        return False
    return not find_times(text, query.now, limit=1)
