"""What every format is read into, and the id of a message that comes without one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from hashlib import sha256

from recollect.domain.messages import Role
from recollect.formats.lines import Line

ROLES: Mapping[str, Role] = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.SYSTEM,  # its words are neither the person's nor the assistant's
    "function": Role.SYSTEM,
}
"""The role words of the JSON formats."""

AT = ("at", "timestamp", "created_at")
"""The keys of a time in the JSON formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message as its format gives it; what is ``None`` the input does not say.

    ``stamp`` is the message's own time as it stands in the input, "" where it has none; ``at`` may come from elsewhere.
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


Reader = Callable[[Iterator[Line], tzinfo | None], Iterator[Utterance]]
"""What a format has to bring: the utterances of some lines, where naive times are meant in a zone."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which UTF-8 cannot carry; all else is left as it is."""
    return _SURROGATE.sub("\ufffd", text)


def message_id(*, session: str, ordinal: int, speaker: str, stamp: str, text: str) -> str:
    """An id made of the message alone: "m" and sixteen hexadecimal digits.

    The same file read twice gives the same ids, and so does its beginning after it has grown. ``ordinal`` counts the
    messages of the session with the same speaker, stamp and text before this one: equal lines stay apart.
    """
    key = json.dumps([session, ordinal, speaker, stamp, text])
    return f"m{sha256(key.encode()).hexdigest()[:16]}"


class Ids:
    """Ids for messages without one. Keeps sixteen bytes of each, so as to count those that are equal."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}

    def next(self, *, session: str, speaker: str, stamp: str, text: str) -> str:
        key = sha256(json.dumps([session, speaker, stamp, text]).encode()).digest()[:16]
        ordinal = self._seen.get(key, 0)
        self._seen[key] = ordinal + 1
        return message_id(session=session, ordinal=ordinal, speaker=speaker, stamp=stamp, text=text)
