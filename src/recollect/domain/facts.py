"""Facts that a user gives to a bank, as they are: nothing has to be read from words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.domain.time import Interval
from recollect.errors import InvalidInput, NaiveDatetime

_GIVEN: Final = "given:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement of three phrases, and when it held; what ``add_facts`` stores.

    The phrases are free of any schema, and facts are joined by them: use one phrase for one thing. ``occurred`` is when
    the statement held, as exact as it is known: with the precision ``year``, from 1 January 1980 to 1 January 1985 is
    "from 1980 to 1984". ``mentioned`` (aware) is when it was said: the time of the last of its sources where left out,
    or else the moment of storing. ``sources`` are the ids of messages that it comes from, the one it is about first:
    when one of them is forgotten, so is the fact. ``text`` is how it reads; the three phrases one after the other
    where left out. A fact with an ``id`` can be given again without being stored twice.
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
        if self.mentioned is not None and self.mentioned.utcoffset() is None:
            raise NaiveDatetime("Fact.mentioned")
        if isinstance(self.sources, str):
            raise InvalidInput("Fact.sources is a tuple of message ids, not a string")
        named = (("subject", self.subject), ("predicate", self.predicate), ("object", self.object))
        optional = (("text", self.text), ("id", self.id))
        for name, words in (*named, *((name, words) for name, words in optional if words is not None)):
            _check(name, words)


def make_given_id(id_: str) -> str:
    """Return the id of the item that keeps a fact, from the id that the fact was given or from that id itself."""
    return id_ if is_given(id_) else f"{_GIVEN}{id_}"


def is_given(item_id: str) -> bool:
    """Say whether an item is a fact that a user gave, by its id."""
    return item_id.startswith(_GIVEN)


def _check(name: str, words: str) -> None:
    if not words.strip():
        raise InvalidInput(f"Fact.{name} is blank")
    if "\0" in words:
        raise InvalidInput(f"Fact.{name} holds a NUL, which cannot be kept; leave it out")
    try:
        words.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidInput(f"Fact.{name} holds a lone surrogate at character {exc.start}; decode it again") from exc
