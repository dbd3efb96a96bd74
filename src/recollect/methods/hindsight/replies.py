"""The types of replies for extraction and observation (Hindsight, appendix A.5), with the rules for every reply.

Numbers of messages and facts count from 1, as in the prompts. The prompt's own code checks if a message of that number
was shown. The model sees the errors that are raised here, and may try again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from typing import ClassVar, Final, Literal

from recollect.answering.reading import quote_briefly
from recollect.text.time_expressions.iso import parse_iso_span

MOST_FACTS: Final = 40
MOST_OBSERVATIONS: Final = 7

FactType = Literal["world", "experience", "opinion"]
EntityType = Literal["person", "organization", "location", "product", "concept", "other"]
Relation = Literal["causes", "caused_by", "enables", "prevents"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """A name as it stands in the fact, and the kind of entity that it names."""

    name: str
    kind: EntityType

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("an entity has no name")


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalRelation:
    """A causal relation to another fact of the same reply. ``target`` is the number of that fact, ``strength`` is 0 to
    1.
    """

    target: int
    relation: Relation
    strength: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.strength <= 1.0:
            raise ValueError(f"the strength {self.strength} of a relation is not between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A narrative fact in five dimensions. Start and end are ISO dates, and messages are the numbers of its sources."""

    what: str
    when: str = ""
    where: str = ""
    who: str = ""
    why: str = ""
    type: FactType
    start: str | None = None
    end: str | None = None
    entities: tuple[NamedEntity, ...] = ()
    relations: tuple[CausalRelation, ...] = ()
    messages: tuple[int, ...]

    def __post_init__(self) -> None:
        if not any(map(str.isalnum, self.what)):
            raise ValueError("a fact is empty: it does not say what happened")
        if not self.messages:
            raise ValueError(f"the fact {quote_briefly(self.what)} names no message that it comes from")
        _require_positive(self.messages, "message")
        try:
            parse_iso_span(self.start, self.end, UTC)
        except ValueError as exc:
            raise ValueError(f"the fact {quote_briefly(self.what)}: {exc}") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFacts:
    """The facts of a part of a conversation, in its order. It is empty if nothing is worth keeping."""

    facts: tuple[ExtractedFact, ...]

    def __post_init__(self) -> None:
        if len(self.facts) > MOST_FACTS:
            raise ValueError(f"{len(self.facts)} facts are too many; give at most {MOST_FACTS}, each a whole exchange")
        for number, fact in enumerate(self.facts, start=1):
            for relation in fact.relations:
                if not 1 <= relation.target <= len(self.facts):
                    raise ValueError(f"fact {number} points to fact {relation.target}; there are {len(self.facts)}")
                if relation.target == number:
                    raise ValueError(f"fact {number} points to itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedObservation:
    """A neutral statement in the third person. ``facts`` are the numbers of the facts behind it."""

    __pydantic_config__: ClassVar = {"title": "Observed"}  # its name in requests to a model, recorded ones too

    text: str
    facts: tuple[int, ...]

    def __post_init__(self) -> None:
        if not any(map(str.isalnum, self.text)):
            raise ValueError("an observation is empty")
        if not self.facts:
            raise ValueError(f"the observation {quote_briefly(self.text)} names no fact that it rests on")
        _require_positive(self.facts, "fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """The observations of an entity, each once."""

    observations: tuple[ExtractedObservation, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.observations) <= MOST_OBSERVATIONS:
            raise ValueError(f"{len(self.observations)} observations; give between 1 and {MOST_OBSERVATIONS}")
        texts = [observed.text.strip().casefold() for observed in self.observations]
        if len(set(texts)) < len(texts):
            raise ValueError("an observation is given twice")


def _require_positive(numbers: Iterable[int], what: str) -> None:
    for number in numbers:
        if number < 1:
            raise ValueError(f"there is no {what} {number}; they are numbered from 1")
