"""Messages: the raw words, kept as they were given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.errors import InvalidInput, NaiveDatetime


class Role(StrEnum):
    """Who speaks: a person, an assistant that answers, or a system that instructs."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance, as a caller gives it to ``retain``.

    ``at`` is when it was said (aware; the moment of retaining where it is left out). ``captions`` say in words what
    attached pictures or files show; they are searched, and kept apart from ``text``. A message with an ``id`` can be
    retained again without being stored twice. ``important`` pins it: a recipe that waits until something comes up again
    makes memory of this at once.
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
            raise InvalidInput(f"Message.id {self.id!r} holds a NUL, which ids cannot; leave it out")


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"Message.{name} holds a lone surrogate at character {exc.start}, which no file can keep; "
            "decode it again, or replace it with '\\ufffd'"
        ) from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message in a bank: ``session`` and ``position`` say where it stands, ``recorded`` when it was stored.

    ``important`` tells that it was pinned when it was first retained; being given again does not change that.
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
