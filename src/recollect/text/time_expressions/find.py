"""Find the times in a text, and the time that a question asks about."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice
from typing import Final

from recollect.domain.time import Interval, Precision
from recollect.text.time_expressions.foreign import may_be_foreign, scan_foreign
from recollect.text.time_expressions.scan import TimeMention, find_words, may_tell_time, scan_times
from recollect.text.time_expressions.tense import Direction, find_direction


def find_times(text: str, said_at: datetime, *, limit: int | None = None) -> tuple[TimeMention, ...]:
    """Return the time expressions of a message as intervals, read from the moment and in the time zone of ``said_at``.

    Ambiguous expressions are left out: "5/7/2023", "next Friday" on a Monday, "on Friday" without a verb that shows
    past or future. So are words that name no time ("may", "24/7"). English is read first. If it finds nothing, Spanish,
    French, German, Portuguese, Italian and Dutch are read, and then full dates in further languages.

    At most ``limit`` times are returned, the first in the text. At most :data:`MAX_EXPRESSIONS` expressions are read,
    ambiguous ones included. So the running time has a bound.

    Raises:
        ValueError: ``said_at`` is naive.
    """
    if said_at.tzinfo is None:
        raise ValueError("find_times needs an aware said_at")
    words = find_words(text)
    mentions = tuple(islice(scan_times(text, said_at), limit)) if may_tell_time(words) else ()
    if mentions or not may_be_foreign(words):
        return mentions
    return tuple(islice(scan_foreign(text, said_at, words), limit))


def find_question_time(text: str, now: datetime) -> Interval | None:
    """Return the time span that a question asks about, or ``None`` if it asks about none or its words conflict.

    "What did I do last week?" asks about one. "When did Ada move?" and "How many days since 5 May 2023?" do not. If one
    of two times contains the other, the finer one counts. "since" together with "before" gives the span between.

    Raises:
        ValueError: ``now`` is naive.
    """
    if _MEASURE.search(text) or _EITHER_SIDE.search(text):
        return None
    intervals = [mention.interval for mention in find_times(text, now) if not _is_idle(text, mention)]
    constraint: Interval | None = intervals[0] if intervals else None
    for interval in intervals[1:]:
        constraint = None if constraint is None else _intersect(constraint, interval)
    return constraint


# In "How many weeks since ..." the question measures from the time. The answer does not lie in it.
_MEASURE: Final = re.compile(
    r"\bhow\s(?:long|much\stime|many\s(?:minutes|hours|days|nights|weeks|weekends|months|years))\b.{0,300}?"
    r"\b(?:since|until|till|before|after|between|from|passed|elapsed|left)\b",
    re.I | re.S,
)
_AS_OF: Final = "as of "
_EITHER_SIDE: Final = re.compile(r"\bbefore\sor\safter\b|\bafter\sor\sbefore\b", re.I)


def _is_idle(text: str, mention: TimeMention) -> bool:
    """Return true if the time is not asked about: "How old am I today?", but not "What did I do today?"."""
    start = mention.span[0]
    if text[max(0, start - len(_AS_OF)) : start].lower() == _AS_OF:
        return True
    return mention.text.lower() == "today" and find_direction(text, *mention.span) is Direction.UNKNOWN


def _intersect(one: Interval, other: Interval) -> Interval | None:
    for inner, outer in ((one, other), (other, one)):
        if _contains(outer, inner):
            return inner
    since, before = (one, other) if one.end is None else (other, one)
    if since.end is None and before.start is None and since.overlaps(before):
        return Interval(start=since.start, end=before.end, precision=Precision.RANGE)
    return None


def _contains(outer: Interval, inner: Interval) -> bool:
    starts = outer.start is None or (inner.start is not None and outer.start <= inner.start)
    return starts and (outer.end is None or (inner.end is not None and inner.end <= outer.end))
