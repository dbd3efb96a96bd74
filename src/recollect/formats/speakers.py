"""Find the speaker in a line of chat, and tell a speaker from a label such as ``Note:``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from recollect.domain.messages import Role
from recollect.formats.timestamps import MARKS, split_timestamp

_MAX_NAME_CHARACTERS = 40
_PREFIX = re.compile(r"(?P<name>[^:：]{1,60})(?::(?=\s|$)|：)")
_SENTENCE = re.compile(r"""[,;!?…"“”„]|\.$""")
_NO_NAME = re.compile(r"""[,;!?…"“”„()\[\]{}<>|*#=/\\]|\.$""")
_TELEPHONE = re.compile(r"\+?\d[\d\s()\-.\u00a0]{4,}\d")

_ASSISTANTS = frozenset({"assistant", "ai", "bot", "gpt", "chatgpt", "claude"})
_ALWAYS = _ASSISTANTS | {"user", "human"}
"""The names that are always speakers."""

_LABELS = frozenset(
    {
        "note",
        "notes",
        "nb",
        "ps",
        "p.s",
        "todo",
        "edit",
        "update",
        "warning",
        "tip",
        "hint",
        "fyi",
        "re",
        "fwd",
        "example",
    }
    | {
        "subject",
        "summary",
        "important",
        "reminder",
        "step",
        "question",
        "answer",
        "http",
        "https",
        "tl;dr",
        "e.g",
        "i.e",
    }
)
"""The words that open a remark inside a message."""


def infer_role(speaker: str) -> Role:
    """Return the role that a speaker's name in a chat shows."""
    name = speaker.casefold()
    if name in _ASSISTANTS:
        return Role.ASSISTANT
    return Role.SYSTEM if name == "system" else Role.USER


def split_speaker(text: str, *, timed: bool = False) -> tuple[str, str] | None:
    """Return the name and the words of ``Name: words``, or ``None`` if the text before the colon does not look like a
    name.

    A name has at most 40 characters and four words, begins with a letter, and has no punctuation of sentences. After a
    time a name is expected. There it may also begin with an emoji or be a telephone number.
    """
    found = _PREFIX.match(text)
    if not found or text[:1].isspace():
        return None
    name = found["name"].strip(MARKS).removeprefix("~").strip()
    looks_right = _may_be_a_name if timed else _looks_like_a_name
    return (name, text[found.end() :].strip()) if looks_right(name) else None


def _looks_like_a_name(name: str) -> bool:
    return name[:1].isalpha() and not _NO_NAME.search(name) and _is_short(name)


def _may_be_a_name(name: str) -> bool:
    return bool(_TELEPHONE.fullmatch(name)) or (not _SENTENCE.search(name) and _is_short(name))


def _is_short(name: str) -> bool:
    words = [word for word in name.split() if any(map(str.isalnum, word))]
    return len(name) <= _MAX_NAME_CHARACTERS and 1 <= len(words) <= 4


def find_speakers(head: Sequence[str]) -> frozenset[str]:
    """Return the names that open a message on a line without a time, learned from the first lines of a chat.

    They are the names of the first line, of lines with a time, and of at least two lines. If every line has a name,
    then nothing shows that a message may have a second line, and each name is a speaker. Labels such as "Note" are not
    speakers.
    """
    named = [_parse_name(line) for line in head]
    counts = Counter(name for name, _ in named if name)
    every_line = all(name or timed for name, timed in named)
    sure = {name for name, timed in named[:1] if name} | {name for name, timed in named if name and timed}
    often = {name for name, count in counts.items() if count > 1 or every_line or name.casefold() in _ALWAYS}
    return frozenset(sure | {name for name in often if name.casefold() not in _LABELS})


def is_known_speaker(name: str, known: frozenset[str]) -> bool:
    """Return true if a name opens a message on a line without a time."""
    return name in known or name.casefold() in _ALWAYS


def _parse_name(line: str) -> tuple[str | None, bool]:
    """Return the name on a line, if any, and true if the line has a time."""
    stamped = split_timestamp(line)
    found = split_speaker(stamped[1], timed=True) if stamped else split_speaker(line)
    return (found[0] if found else None), stamped is not None
