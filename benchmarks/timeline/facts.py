"""The parts of a timeline. Times are whole numbers of one unit, so that nothing here depends on a calendar."""

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
    """A fact: ``subject`` was the ``relation`` of ``object`` from ``start`` to ``end``, both included.

    ``end`` is ``None`` if the fact is still true.
    """

    subject: str
    relation: str
    object: str
    start: int
    end: int | None

    def holds_at(self, time: int) -> bool:
        return self.start <= time and (self.end is None or time <= self.end)

    @property
    def until(self) -> float:
        """Return the end, or infinity if the fact is still true."""
        return float("inf") if self.end is None else self.end

    @property
    def names(self) -> tuple[str, str, str]:
        """Return subject, relation and object. They are the same for all times at which the same thing was true."""
        return self.subject, self.relation, self.object


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All facts of one relation with one entity: the subjects of an object, or the objects of a subject.

    ``known`` says if ``entity`` is the subject or the object. Questions ask for the entities on the other side.
    """

    relation: str
    entity: str
    known: Literal["subject", "object"]

    def holds(self, fact: Fact) -> bool:
        return fact.relation == self.relation and getattr(fact, self.known) == self.entity

    def asked(self, fact: Fact) -> str:
        """Return the entity on the other side of a fact."""
        return fact.subject if self.known == "object" else fact.object

    def names(self, entity: str) -> tuple[str, str, str]:
        """Return subject, relation and object, with ``entity`` on the other side."""
        ends = (self.entity, entity) if self.known == "subject" else (entity, self.entity)
        return ends[0], self.relation, ends[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Writes times as text. A time is a number of years, or of months, since the year 0."""

    unit: Literal["year", "month"]

    def spoken(self, time: int) -> str:
        """Return a time as it is in a sentence: "1980", or "March 1980"."""
        return str(time) if self.unit == "year" else f"{MONTHS[time % 12]} {time // 12}"

    def written(self, time: int) -> str:
        """Return a time as it is in an answer: "1980", or "1980-03"."""
        return str(time) if self.unit == "year" else f"{time // 12}-{time % 12 + 1:02}"

    def span(self, first_year: int, last_year: int) -> range:
        """Return all times of these years, including the last year."""
        size = 1 if self.unit == "year" else 12
        return range(first_year * size, (last_year + 1) * size)
