"""Messages: the raw words, stored verbatim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.domain.checks import (
    require_key,
    require_member,
    require_moment,
    require_text,
    require_texts,
    require_type,
)


class Role(StrEnum):
    """The role of a speaker: a person, an assistant that answers, or a system that gives instructions."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance, as a caller gives it to ``retain``.

    Args:
        text: the words.
        speaker: the name of the speaker.
        role: the role of the speaker.
        at: when it was said (aware). By default it is the time of the call.
        id: the id of the message. A message with an id can be retained again without being stored twice.
        captions: descriptions of attached pictures or files. They are searched, and stored separately from ``text``.
        important: pins the message. A recipe that waits for recurrence derives memory from a pinned message at once.

    Raises:
        InvalidInput: a field has the wrong type, a text cannot be encoded as UTF-8, the id contains a NUL character, or
            ``at`` does not exist or is at the ends of the calendar.
        NaiveDatetime: ``at`` has no zone.
    """

    text: str
    speaker: str = "user"
    role: Role = Role.USER
    at: datetime | None = None
    id: str | None = None
    captions: tuple[str, ...] = ()
    important: bool = False

    def __post_init__(self) -> None:
        require_text("Message.text", self.text)
        require_text("Message.speaker", self.speaker)
        require_member("Message.role", Role, self.role)
        require_type("Message.captions", self.captions, tuple, "a tuple of strings")
        require_texts("Message.captions", self.captions)
        require_type("Message.important", self.important, bool, "True or False")
        if self.at is not None:
            require_moment("Message.at", self.at)
        if self.id is not None:
            require_key("Message.id", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message in a bank. ``position`` is its place in the ``session``, and ``recorded`` is when it was stored.

    ``important`` is true if the message was pinned when it was first retained. Retaining it again does not change this.
    """

    id: str
    session: str
    position: int
    speaker: str
    role: Role
    text: str
    captions: tuple[str, ...]
    at: datetime
    recorded: datetime
    important: bool = False
