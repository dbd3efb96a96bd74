"""What a timeline is made of. Times are whole numbers of one unit, so that nothing here depends on a calendar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

UNITS: Final = ("year", "month")
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """``subject`` was the ``relation`` of ``object`` from ``start`` to ``end``, both included; ``None``: still so."""

    subject: str
    relation: str
    object: str
    start: int
    end: int | None

    def holds_at(self, time: int) -> bool:
        return self.start <= time and (self.end is None or time <= self.end)

    @property
    def until(self) -> float:
        """When it ends; never, where it still goes on."""
        return float("inf") if self.end is None else self.end

    @property
    def names(self) -> tuple[str, str, str]:
        """Who was what of whom: the same for all times at which the same was so."""
        return self.subject, self.relation, self.object


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All that a relation ties to one entity: to an object its subjects, or to a subject its objects.

    ``known`` says which of the two ``entity`` is; the entities on the other side are what is asked for.
    """

    relation: str
    entity: str
    known: Literal["subject", "object"]

    def holds(self, fact: Fact) -> bool:
        return fact.relation == self.relation and getattr(fact, self.known) == self.entity

    def asked(self, fact: Fact) -> str:
        """The entity on the other side."""
        return fact.subject if self.known == "object" else fact.object

    def names(self, entity: str) -> tuple[str, str, str]:
        """Who was what of whom, with an entity on the other side."""
        ends = (self.entity, entity) if self.known == "subject" else (entity, self.entity)
        return ends[0], self.relation, ends[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """How times are written: a time counts years, or months, since the year 0."""

    unit: Literal["year", "month"]

    def spoken(self, time: int) -> str:
        """As a sentence has it: "1980", or "March 1980"."""
        return str(time) if self.unit == "year" else f"{MONTHS[time % 12]} {time // 12}"

    def written(self, time: int) -> str:
        """As an answer has it: "1980", or "1980-03"."""
        return str(time) if self.unit == "year" else f"{time // 12}-{time % 12 + 1:02}"

    def span(self, first_year: int, last_year: int) -> range:
        """All times of these years, the last one included."""
        size = 1 if self.unit == "year" else 12
        return range(first_year * size, (last_year + 1) * size)
