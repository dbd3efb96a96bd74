"""Facts that a user gives to a bank directly, without a text to extract them from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.domain.checks import require_interval, require_key, require_moment, require_texts
from recollect.domain.time import Interval
from recollect.errors import InvalidInput

_GIVEN: Final = "given:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement of three phrases for ``add_facts``, and the time in which it was true.

    The phrases need no schema. Facts are connected by equal phrases, so use one phrase for one thing.

    Args:
        subject, predicate, object: the three phrases.
        occurred: the time in which the statement was true, as precise as it is known. For example, 1 January 1980 to 1
            January 1985 with the precision ``year`` means "from 1980 to 1984".
        mentioned: the time when it was said (aware). By default it is the time of the last source, or without sources
            the time of storing.
        sources: ids of the messages that the fact comes from, the main one first. If one of them is forgotten, the fact
            is forgotten too.
        text: the statement as a sentence. By default it is the three phrases, one after the other.
        id: the id of the fact. A fact with an id can be given again without being stored twice.

    Raises:
        InvalidInput: a field has the wrong type, a phrase, the text or the id is blank or cannot be stored, or a time
            does not exist or is at the ends of the calendar.
        NaiveDatetime: ``mentioned`` has no zone.
    """

    subject: str
    predicate: str
    object: str
    occurred: Interval | None = None
    mentioned: datetime | None = None
    sources: tuple[str, ...] = ()
    text: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.sources, str):
            raise InvalidInput("Fact.sources is a tuple of message ids, not a string")
        require_texts("Fact.sources", self.sources)
        named = (("subject", self.subject), ("predicate", self.predicate), ("object", self.object))
        optional = (("text", self.text), ("id", self.id))
        for name, words in (*named, *((name, words) for name, words in optional if words is not None)):
            if not require_key(f"Fact.{name}", words).strip():
                raise InvalidInput(f"Fact.{name} is blank")
        if self.mentioned is not None:
            require_moment("Fact.mentioned", self.mentioned)
        if self.occurred is not None:
            require_interval("Fact.occurred", self.occurred)


def make_given_id(id_: str) -> str:
    """Return the id of the item for a fact. ``id_`` is the id of the fact, or already the id of the item."""
    return id_ if is_given(id_) else f"{_GIVEN}{id_}"


def is_given(item_id: str) -> bool:
    """Return true if an item, by its id, is a fact that a user gave."""
    return item_id.startswith(_GIVEN)
