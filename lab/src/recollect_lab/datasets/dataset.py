"""The input of an evaluation: conversations to remember and questions about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from recollect.domain.messages import Message

PlaceUnit = Literal["message", "exchange"]
"""The unit that counts as one place in a ranking: a message, or a user message with the answers to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSession:
    """The messages of one sitting, in order. Every message has an ``id`` and an ``at`` that no other message has."""

    id: str
    at: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """A question with its known answer and the messages that contain the answer.

    ``at`` is the time at which the question is asked ("now", to the bank). ``evidence`` are ids of messages.
    ``sessions`` are the ids of the sessions with the evidence. A question may name only sessions. ``unscored`` is the
    reason why retrieval cannot be scored on it (for example "no evidence"), or ``None``.
    """

    id: str
    text: str
    category: str
    at: datetime | None = None
    answer: str = ""
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    unscored: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetConversation:
    """The contents of one bank, in order of time, and the questions about them."""

    id: str
    sessions: tuple[DatasetSession, ...]
    questions: tuple[DatasetQuestion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A file of conversations.

    ``checksum`` is the SHA-256 of the file's bytes on disk, in hexadecimal. ``left_out`` counts, by reason, the
    questions of the file that the loader left out. ``bad_evidence`` counts the pieces of evidence that name no message
    of their conversation. The loader drops them.
    """

    name: str
    conversations: tuple[DatasetConversation, ...]
    place: PlaceUnit
    checksum: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    bad_evidence: int = 0
