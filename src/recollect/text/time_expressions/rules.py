"""The rules of English. Each rule has a pattern and the meaning of its match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Final

from recollect.domain.time import Interval, Precision
from recollect.text.time_expressions import dates, meanings, relative, spans
from recollect.text.time_expressions.words import (
    COUNT,
    COUNTS,
    DAY,
    FOLLOW,
    FULL_WEEKDAY,
    HOLIDAY,
    HOLIDAY_STARTS,
    MONTH,
    MONTHS,
    NUMBER,
    ORDINALS,
    PART,
    SEASON,
    SEASONS,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    S,
    find_weekday,
    join_alternatives,
    parse_number,
)

Meaning = Callable[["re.Match[str]", datetime], "Interval | None"]


def collect_starts(words: str, *more: Iterable[str]) -> frozenset[str]:
    """Return the words with which a rule can begin, from a string and from tables."""
    return frozenset(words.split()).union(*more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern with named groups, and its meaning. The meaning returns ``None`` if the words name no time or are
    unclear.

    ``starts`` holds the words with which the pattern can begin, and ``#`` for digits. A rule is tried only at such a
    word.
    """

    starts: frozenset[str]
    pattern: str
    meaning: Meaning


_FUZZ = (
    rf"(?P<fuzz>about|around|approximately|roughly|almost|nearly|over|under|"
    rf"more{S}than|less{S}than|at{S}least|half)"
)
_UNIT = r"(?:day|night|week|weekend|fortnight|month|year)"
_PRE = r"(?P<pre>in|during|throughout|since|until|till|before|after|by|month\sof)"
_VERGE = rf"(?:early|late|mid|(?:the{S})?(?:beginning|start|middle|end|month){S}of)"


def _resolve_anchored(found: re.Match[str], at: datetime) -> Interval | None:
    """Read "the Sunday before 25 May 2023", "two days after last Friday", "the week of 23 August", "the week before
    last".

    "two weeks before 5 May" is the week that lies two weeks earlier. "the two weeks before 5 May" are the fourteen days
    up to it.
    """
    unit, side = meanings.singular(found["unit"]), found["side"].lower()
    if found["anchor"].lower() == "last":
        return relative.ago(2, 2, unit, at) if side == "before" and not found["count"] else None
    anchor = resolve_exactly(found.string, found.start("anchor"), found.end("anchor"), at)
    if anchor is None or anchor.start is None or anchor.precision is not Precision.DAY:
        return None
    count, day = parse_number(found["count"]) if found["count"] else 1, anchor.start.date()
    if found["the"] and count > 1 and side == "before" and unit in ("day", "week", "month", "year"):
        return spans.between(relative.shift(day, unit, -count), day, at.tzinfo, Precision.RANGE)
    return _shift_from_anchor(day, unit, {"of": 0, "before": -count, "after": count}[side], at)


def resolve_exactly(text: str, start: int, end: int, at: datetime) -> Interval | None:
    """Return the interval of the words between two offsets, if the words as a whole are one time expression."""
    for pattern, rule in compile_rules():
        found = pattern.fullmatch(text, start, end)
        if found is not None:
            return rule.meaning(found, at)
    return None


def _shift_from_anchor(day: date, unit: str, steps: int, at: datetime) -> Interval | None:
    if re.fullmatch(FULL_WEEKDAY, unit):
        weekday, far = find_weekday(unit), timedelta(days=7 * (abs(steps) - 1))
        if steps == 0:
            return None
        found = relative.weekday_before(day, weekday) - far if steps < 0 else relative.weekday_after(day, weekday) + far
        return spans.day_of(found, at.tzinfo)
    return relative.unit_of(relative.shift(day, unit, steps), unit, at.tzinfo)


_NO_PLACE = rf"(?!{S}(?:street|st|road|rd|avenue|hall|park|madness)\b)"


def _not_followed_by(piece: str) -> str:
    """Return a pattern that refuses a second such piece behind it. In "in 2021, 2022 and 2023" no year stands for
    all.
    """
    return rf"(?!(?:,|,?{S}(?:and|or|to)){S}{piece}|\s?[-–/]\s?{piece})"


_NOT_OF = rf"(?!{S}(?:of\b|in{S}(?:the\b|{MONTH})))"
_ANCHOR = (
    rf"(?:{dates.ISO}|{dates.DAY_FIRST}|{dates.MONTH_FIRST}|(?:the{S}day{S}before{S})?yesterday\b|tomorrow\b|today\b|"
    rf"(?:last|this|next){S}{WEEKDAY}|last\b(?!{S}\w)|(?:last|this){S}{HOLIDAY}|{HOLIDAY}{S}{YEAR}\b)"
)

RULES: Final = (
    Rule(
        starts=collect_starts("the day"),
        pattern=rf"(?P<word>(?:the{S})?day{S}(?:before{S}yesterday|after{S}tomorrow))\b",
        meaning=meanings.day_word,
    ),
    Rule(
        starts=collect_starts("the", COUNTS, UNITS, WEEKDAYS),
        pattern=rf"(?P<the>the{S})?(?:(?P<count>{NUMBER}){S})?(?P<unit>(?:{_UNIT}|{FULL_WEEKDAY})s?){S}"
        rf"(?P<side>before|after|of){S}(?P<anchor>{_ANCHOR})",
        meaning=_resolve_anchored,
    ),
    Rule(
        starts=collect_starts("from between #", MONTHS),
        pattern=dates.RANGE,
        meaning=meanings.date_range,
    ),
    Rule(
        starts=collect_starts("the #", MONTHS, WEEKDAYS),
        pattern=rf"(?:{dates.WRITTEN}|{dates.NUMERIC})(?![\w%])",
        meaning=meanings.written,
    ),
    Rule(
        starts=collect_starts("about around approximately roughly almost nearly over under more less at half", COUNTS),
        pattern=rf"(?:{_FUZZ}{S})?(?P<count>{COUNT}){S}"
        rf"(?P<unit>(?:min(?:ute)?|hour|{_UNIT}|{FULL_WEEKDAY})s?){S}ago\b(?:{S}today\b)?",
        meaning=meanings.ago,
    ),
    Rule(
        starts=collect_starts("yesterday tomorrow"),
        pattern=rf"(?P<word>yesterday|tomorrow)(?:{S}(?P<part>{PART}))?\b(?!{S}never)",
        meaning=meanings.day_word,
    ),
    Rule(
        starts=collect_starts("today tonight"),
        pattern=rf"(?P<word>today|tonight)\b(?!['’]s{S}(?:world|society|day))",
        meaning=meanings.day_word,
    ),
    Rule(
        starts=collect_starts("this last"),
        pattern=rf"(?P<word>this|last){S}(?P<part>{PART})\b{_NOT_OF}",
        meaning=meanings.day_word,
    ),
    Rule(
        starts=collect_starts("#", ORDINALS),
        pattern=rf"(?P<nth>{join_alternatives(ORDINALS)}){S}(?P<weekday>{FULL_WEEKDAY}){S}(?:of|in){S}(?P<month>{MONTH}),?{S}"
        rf"(?P<year>{YEAR})\b",
        meaning=meanings.nth_weekday,
    ),
    Rule(
        starts=collect_starts("on last this next", WEEKDAYS),
        pattern=rf"(?:(?:on{S})?(?P<day_a>{FULL_WEEKDAY}){S}(?:of{S})?(?P<which_a>last|this|next){S}week"
        rf"|(?P<which_b>last|this|next){S}week,?{S}(?:on{S})?(?P<day_b>{FULL_WEEKDAY}))\b",
        meaning=meanings.weekday_of_week,
    ),
    Rule(
        starts=collect_starts("the this these last past next coming"),
        pattern=rf"(?:the{S}|this{S}|these{S})?(?P<which>last|past|next|coming){S}(?P<count>{COUNT}){S}"
        rf"(?P<unit>{_UNIT}s)\b{_NOT_OF}",
        meaning=meanings.rolling,
    ),
    Rule(
        starts=collect_starts("in over during within for throughout the last past next coming this"),
        pattern=rf"(?P<within>(?:in|over|during|within|for|throughout){S})?(?:(?P<the>the{S})|this{S}(?=past|coming))?"
        rf"(?P<which>last|past|next|coming|this){S}(?P<unit>week|weekend|month|year)\b{_NOT_OF}",
        meaning=meanings.unit,
    ),
    Rule(
        starts=collect_starts("last next this"),
        pattern=rf"(?P<which>last|next|this(?:{S}(?:past|coming))?){S}"
        rf"(?P<name>{HOLIDAY}|{SEASON}|{WEEKDAY}|{MONTH})(?:{S}(?P<part>{PART})\b)?(?!\w){_NOT_OF}",
        meaning=meanings.named,
    ),
    Rule(
        starts=collect_starts("on", HOLIDAY_STARTS),
        pattern=rf"(?P<pre>on{S})?(?P<name>{HOLIDAY}),?{S}(?:of{S}|in{S})?(?P<year>{YEAR})\b",
        meaning=meanings.holiday,
    ),
    Rule(
        starts=collect_starts("on"),
        pattern=rf"on{S}(?P<name>{HOLIDAY})\b(?!{S}\w{{3,}}ing\b)",
        meaning=meanings.holiday,
    ),
    Rule(
        starts=collect_starts("", SEASONS),
        pattern=rf"(?P<season>{SEASON}),?{S}(?:of{S})?(?P<year>{YEAR})(?:[-/–](?P<second>\d\d(?:\d\d)?))?\b",
        meaning=meanings.season,
    ),
    Rule(
        starts=collect_starts("q first second third fourth #"),
        pattern=rf"(?:(?:q(?P<digit>[1-4])|(?P<nth>first|second|third|fourth){S}quarter){S}(?:of{S})?(?P<year>{YEAR})"
        rf"|(?P<year_first>{YEAR}){S}q(?P<digit_last>[1-4]))\b",
        meaning=meanings.quarter,
    ),
    Rule(
        starts=collect_starts("the #"),
        pattern=r"(?:the\s)?(?P<digits>1[89][1-9]0|20[0-4]0)['’]?s\b",
        meaning=meanings.decade,
    ),
    Rule(
        starts=collect_starts("in during from since"),
        pattern=r"(?:in|during|from|since)\sthe\s['’]?(?P<digits>[5-9]0)['’]?s\b",
        meaning=meanings.short_decade,
    ),
    Rule(
        starts=collect_starts("in during throughout since until till before after by early late mid"),
        pattern=rf"(?P<pre>in|during|throughout|since|until|till|before|after|by|early|late|mid)[\s-]{{1,3}}"
        rf"(?:{_VERGE}[\s-]{{1,3}}|the{S}year{S})?(?P<year>{YEAR})\b{FOLLOW}{_not_followed_by(YEAR)}",
        meaning=meanings.year,
    ),
    Rule(
        starts=collect_starts(
            "in during throughout since until till before after by month early late mid the beginning start middle end "
            "spring summer fall autumn"
        ),
        pattern=rf"(?:{_PRE}{S}(?:{_VERGE}[\s-]{{1,3}})?|{_VERGE}[\s-]{{1,3}})(?P<month>{MONTH})(?!\w){FOLLOW}{_not_followed_by(MONTH)}{_NO_PLACE}",
        meaning=meanings.month,
    ),
    Rule(
        starts=collect_starts("on since until till by before after"),
        pattern=rf"(?P<pre>on|since|until|till|by|before|after){S}(?P<weekday>{FULL_WEEKDAY})\b"
        rf"(?:{S}(?P<part>{PART})\b)?(?!{S}(?:{PART}s|to{S}|through{S})){_not_followed_by(FULL_WEEKDAY)}",
        meaning=meanings.weekday,
    ),
    Rule(
        starts=collect_starts("over on during"),
        pattern=rf"(?:over|on|during){S}the{S}weekend\b(?!{S}(?:of|before|after)\b)",
        meaning=meanings.weekend,
    ),
    Rule(
        starts=collect_starts("on"),
        pattern=rf"on{S}the{S}(?P<day>{DAY})(?:st|nd|rd|th)\b(?=\s*$|[.,;!?])",
        meaning=meanings.day_of_month,
    ),
    Rule(
        starts=collect_starts("in"),
        pattern=rf"(?:(?P<inside>in){S}(?P<count>{COUNT}){S}(?P<unit>{_UNIT}s?)\b(?P<time>['’]?{S}time\b)?)",
        meaning=meanings.ahead,
    ),
    Rule(
        starts=collect_starts("", COUNTS),
        pattern=rf"(?P<count>{COUNT}){S}(?P<unit>{_UNIT}s?){S}from{S}(?:now|today)\b",
        meaning=meanings.ahead,
    ),
    Rule(
        starts=collect_starts("for", COUNTS),
        pattern=rf"(?:for{S})?(?P<count>{NUMBER}){S}(?P<unit>(?:week|month|year)s?){S}now\b",
        meaning=meanings.so_far,
    ),
)


@cache
def compile_rules() -> tuple[tuple[re.Pattern[str], Rule], ...]:
    """Return the rules with their compiled patterns, in the order in which they are tried. The first call compiles
    them.
    """
    return tuple((re.compile(rule.pattern, re.I), rule) for rule in RULES)


@cache
def index_rules() -> dict[str, tuple[tuple[re.Pattern[str], Rule], ...]]:
    """Return, for each word that can begin an expression, the rules to try at that word, in order."""
    words = frozenset[str]().union(*(rule.starts for rule in RULES))
    return {word: tuple(pair for pair in compile_rules() if word in pair[1].starts) for word in words}
