"""What an evaluation reads: conversations to remember and questions about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from recollect.domain.messages import Message

PlaceUnit = Literal["message", "exchange"]
"""What is counted as one place in a ranking: a message, or a user message with the answers to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSession:
    """The messages of one sitting, in order; every message has an ``id`` and an ``at`` of its own."""

    id: str
    at: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """A question with its known answer and where that answer was said.

    ``at`` is when it is asked ("now", to the bank). ``evidence`` are ids of messages, ``sessions`` ids of the sessions
    that hold the evidence; a question may name sessions only. ``unscored`` says why retrieval cannot be scored on it
    (for example "no evidence"), and is ``None`` where it can.
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
    """What goes into one bank, in order of time, and what is asked of it."""

    id: str
    sessions: tuple[DatasetSession, ...]
    questions: tuple[DatasetQuestion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A file of conversations.

    ``checksum`` is the SHA-256 of the file's bytes as they lie on disk, in hexadecimal. ``left_out`` counts the
    questions of the file that the loader did not take, by reason; ``bad_evidence`` counts the pieces of evidence that
    name no message of their conversation and were dropped.
    """

    name: str
    conversations: tuple[DatasetConversation, ...]
    place: PlaceUnit
    checksum: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    bad_evidence: int = 0
