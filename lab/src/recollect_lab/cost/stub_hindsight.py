"""Stub replies for Hindsight's extraction and observations, as long as the replies of the shipped recording.

The recording (``recollect/recordings/hindsight``) was made over the sample: 67 facts in 13 replies, 126 observations in
28 replies. The constants have the means of its replies next to them, in words and by field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.methods.hindsight.observer import FEWEST_FACTS
from recollect.methods.hindsight.replies import (
    MOST_FACTS,
    CausalRelation,
    ExtractedFact,
    ExtractedFacts,
    ExtractedObservation,
    NamedEntity,
    Observations,
)
from recollect.models.language import Prompt
from recollect.text.names import find_names
from recollect.text.tokens import count_tokens
from recollect_lab.cost.excerpts import (
    ShownEntry,
    ShownMessage,
    clip_words,
    find_iso_day,
    parse_messages,
    split_entries,
    split_evenly,
    split_sections,
)

TOKENS_OF_A_FACT: Final = 140
"""The tokens of talk for each fact: five facts for about 700 tokens.

The recording has 5.2 facts for 781 tokens. The paper has 2 to 5 facts (4.1.2).
"""

WHAT_WORDS, WHY_WORDS = 53, 10
"""The words of ``what`` and ``why``: 53.1 and 10.1 in the recording.

``who`` and ``where`` have 2 words in the recording, and are empty here.
"""

NAMES: Final = 4
"""The names in a fact: 3.8 in the recording."""

MESSAGES: Final = 3
"""The messages of a fact: 2.6 in the recording."""

CAUSED: Final = (1, 3)
"""The positions, in every five facts, of those with a causal relation: 0.4 relations a fact in the recording."""

OBSERVATIONS, OBSERVATION_WORDS = 5, 37
"""The observations of a reply, and the words of each: 4.5 and 37.0 in the recording.

Each observation has two facts as its sources, 2.3 in the recording.
"""


def write_facts(prompt: Prompt) -> ExtractedFacts:
    """Return a fact for each run of the new messages. Each fact has the words of up to three messages."""
    section = split_sections(prompt.text)["messages"]
    said = parse_messages(section)
    count = min(max(1, round(count_tokens(section) / TOKENS_OF_A_FACT)), len(said), MOST_FACTS)
    return ExtractedFacts(facts=tuple(_write_fact(stretch, at) for at, stretch in enumerate(split_evenly(said, count))))


def _write_fact(stretch: Sequence[ShownMessage], at: int) -> ExtractedFact:
    told = stretch[:MESSAGES]
    what = " ".join(f"{one.speaker} said: {clip_words(one.words, WHAT_WORDS // len(told) - 2)}." for one in told)
    names = {name.text: None for name in find_names(what, frozenset(one.speaker for one in told))}
    return ExtractedFact(
        what=what,
        when=told[0].moment.rpartition(",")[0],
        why=clip_words(stretch[-1].words, WHY_WORDS),
        type="world",
        start=find_iso_day(told[0].moment),
        entities=tuple(NamedEntity(name=name, kind="person") for name in list(names)[:NAMES]),
        relations=(CausalRelation(target=at, relation="caused_by"),) if at % 5 in CAUSED else (),
        messages=tuple(one.number for one in told),
    )


def write_observations(prompt: Prompt) -> Observations:
    """Return observations with the first words of two facts each. The newest facts are used."""
    shown = split_sections(prompt.text)
    facts, subject = split_entries(shown["facts"]), shown["entity"].partition(" (")[0]
    count = min(OBSERVATIONS, max(FEWEST_FACTS, len(facts) // 2))
    told = [(facts[-1 - at % len(facts)], facts[-1 - (at + count) % len(facts)]) for at in range(count)]
    return Observations(
        observations=tuple(
            ExtractedObservation(
                text=f"Of {subject} it is known, {number}: " + ", and ".join(_take_start(one) for one in pair) + ".",
                facts=tuple(dict.fromkeys(one.number for one in pair)),
            )
            for number, pair in enumerate(told, start=1)
        )
    )


def _take_start(fact: ShownEntry) -> str:
    """Return the first words of a fact, without the times in brackets before them."""
    return clip_words(fact.text.partition(") ")[2] or fact.text, (OBSERVATION_WORDS - 8) // 2)
