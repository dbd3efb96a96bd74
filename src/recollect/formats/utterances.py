"""The common result of all formats, and the ids of messages without one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from hashlib import sha256

from recollect.domain.messages import Role
from recollect.formats.lines import InputLine

ROLES: Mapping[str, Role] = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.SYSTEM,  # its words are neither the person's nor the assistant's
    "function": Role.SYSTEM,
}
"""The words for roles in the JSON formats."""

AT = ("at", "timestamp", "created_at")
"""The keys for a time in the JSON formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message as its format gives it. A ``None`` field is absent in the input.

    ``stamp`` is the message's own time as the input writes it, or "" if it has none. ``at`` may come from elsewhere.
    """

    session: str | None
    speaker: str
    role: Role
    text: str
    at: datetime | None
    stamp: str = ""
    id: str | None = None
    captions: tuple[str, ...] = ()
    important: bool = False


FormatReader = Callable[[Iterator[InputLine], tzinfo | None], Iterator[Utterance]]
"""Yields the utterances of some lines. A naive time is in the given zone."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, because UTF-8 cannot hold these. Nothing else changes."""
    return _SURROGATE.sub("\ufffd", text)


def make_message_id(*, session: str, ordinal: int, speaker: str, stamp: str, text: str) -> str:
    """Return an id that depends on the message alone: "m" and sixteen hexadecimal digits.

    A file that is read twice gives the same ids, and so does its beginning after the file has grown. ``ordinal`` counts
    the earlier messages of the session with the same speaker, stamp and text, so that equal lines get different ids.
    """
    key = json.dumps([session, ordinal, speaker, stamp, text])
    return f"m{sha256(key.encode()).hexdigest()[:16]}"


class MessageIds:
    """Ids for messages without one. It keeps sixteen bytes for each id, to count equal messages."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}

    def make_id(self, *, session: str, speaker: str, stamp: str, text: str) -> str:
        key = sha256(json.dumps([session, speaker, stamp, text]).encode()).digest()[:16]
        ordinal = self._seen.get(key, 0)
        self._seen[key] = ordinal + 1
        return make_message_id(session=session, ordinal=ordinal, speaker=speaker, stamp=stamp, text=text)
