"""Find out if a sentence speaks of the past or the future, so that "on Friday" and "in March" can be resolved."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final


class Direction(Enum):
    PAST = auto()
    FUTURE = auto()
    UNKNOWN = auto()


_REACH: Final = 160
_SENTENCE_END: Final = re.compile(r"[.!?;\n](?=\s|$)|\s[-–—]\s|[—\n]")
_CLAUSE_END: Final = re.compile(r"[,;:()]|\b(?:and|but|so|then|because|while)\b", re.I)
# Adjectives and nouns in -ed, and verbs that arrange a future event. Neither puts the time of a sentence in the past.
_NOT_PAST: Final = (
    r"(?:need|feed|seed|speed|indeed|exceed|succeed|proceed|bleed|breed|weed|reed|greed|freed|red|bed|wed|shed|excited|"
    r"tired|interested|bored|scared|worried|supposed|hundred|sacred|wicked|gifted|talented|related|united|advanced|"
    r"limited|thrilled|pleased|stoked|pumped|psyched|relaxed|stressed|prepared|required|naked|expected|embed|med|led)"
)
_PAST: Final = re.compile(
    rf"\b(?:was|wasn['’]t|were|weren['’]t|did|didn['’]t|had|hadn['’]t|been(?!\s\w{{1,20}}ing\b)|went|gone|"
    r"(?<!['’]ve\s)(?<!have\s)(?<!has\s)got|gotten|made|took|taken|saw|seen|came|met|bought|brought|gave|given|found|told|said|thought|felt|left|kept|ran|sat|wrote|written|drove|flew|"
    r"ate|drank|spent|sent|built|won|lost|taught|caught|fell|broke|began|grew|knew|heard|slept|swam|sang|rode|"
    r"woke|wore|threw|chose|paid|sold|stood|understood|became|hung|stayed|"
    # "is closed", "gets used": a participle after these words speaks of the present.
    rf"(?<!\bis\s)(?<!\bare\s)(?<!\bbe\s)(?<!\bget\s)(?<!\bgets\s)(?<!['’]s\s)(?<!['’]re\s)(?!{_NOT_PAST}\b)"
    r"[a-z]{1,20}ed)\b(?!\sby\b)",
    re.I,
)
_FUTURE: Final = re.compile(
    r"\b(?:will|won['’]t|shall|going\sto|gonna|plan(?:s|ning)?\s(?:to|on)|hop(?:e|ing)\sto|want\sto|wanna|need\sto|"
    r"have\sto|has\sto|must|should|let['’]s|upcoming|soon|can['’]?t\swait|looking\sforward|about\sto|"
    r"(?:am|are|is)\s(?:not\s|i\s|we\s|you\s|they\s|he\s|she\s)?(?!amazing|exciting|interesting|missing|being|willing)"
    r"[a-z]{2,20}ing)\b|['’](?:ll|m|re)\s(?:ll\s)?(?:not\s)?(?!amazing|exciting|interesting|missing|being|willing)"
    r"[a-z]{2,20}ing\b|['’]ll\b",
    re.I,
)
# Arrangements ("I got tickets for the show on Friday") use the past tense and mean the future. Habits mean neither.
_UNTELLING: Final = re.compile(
    r"\b(?:tickets?|appointments?|reservations?|invit\w{1,6}|deadline|decided|agreed|promised|offered|scheduled|"
    r"planned|booked|reserved|arranged|postponed|rescheduled|registered|would|might|could|if|unless|"
    r"usually|always|often|typically|generally|normally|sometimes|every|each|annual(?:ly)?|whenever|how\smany)\b",
    re.I,
)


def find_direction(text: str, start: int, end: int) -> Direction:
    """Return past or future, as the verbs around ``text[start:end]`` show it.

    The clause of the words decides, or the sentence if the clause has no verb. The result is ``UNKNOWN`` for verbs of
    both kinds, for no verb, and for arrangements and habits.
    """
    low, high = _find_window(text, max(0, start - _REACH), min(len(text), end + _REACH), start, end, _SENTENCE_END)
    narrow = _find_window(text, low, high, start, end, _CLAUSE_END)
    found = _read_tense(text[narrow[0] : start] + " " + text[end : narrow[1]])
    if found is not Direction.UNKNOWN or narrow == (low, high):
        return found
    return _read_tense(text[low:start] + " " + text[end:high])


def _find_window(text: str, low: int, high: int, start: int, end: int, stop: re.Pattern[str]) -> tuple[int, int]:
    for boundary in stop.finditer(text, low, start):
        low = boundary.end()
    after = stop.search(text, end, high)
    return low, high if after is None else after.start()


def _read_tense(words: str) -> Direction:
    if _UNTELLING.search(words):
        return Direction.UNKNOWN
    past, future = _PAST.search(words) is not None, _FUTURE.search(words) is not None
    if past == future:
        return Direction.UNKNOWN
    return Direction.PAST if past else Direction.FUTURE
