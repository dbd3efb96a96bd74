"""Messages: the raw words, stored verbatim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.errors import InvalidInput, NaiveDatetime


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
        InvalidInput: a text cannot be encoded as UTF-8, or the id contains a NUL character.
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
        if self.at is not None and self.at.utcoffset() is None:
            raise NaiveDatetime("Message.at")
        named = (("text", self.text), ("speaker", self.speaker), ("id", self.id or ""))
        for name, text in (*named, *(("captions", caption) for caption in self.captions)):
            if not text.isascii():
                _check_unicode(name, text)
        if "\0" in (self.id or ""):
            raise InvalidInput(
                f"Message.id {self.id!r} contains a NUL character, which is not allowed in ids. Remove it"
            )


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"Message.{name} contains a lone surrogate at character {exc.start}, which no file can store. "
            "Decode the text again, or replace the surrogate with '\\ufffd'"
        ) from exc


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
