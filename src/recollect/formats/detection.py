"""Detect the format of an input from its beginning."""

from __future__ import annotations

import json
import re
from enum import StrEnum

_MESSAGES = re.compile(r'"messages"\s*:')
_LIST_OF_JSON = re.compile(r'\[\s*(?:[\[{"\]]|$)')


class Format(StrEnum):
    """The formats that can be read."""

    JSONL = "jsonl"
    OPENAI = "openai"
    CHAT = "chat"


def detect_format(head: str) -> Format:
    """Return the format of an input that begins with ``head``. Its first line that is not blank is enough.

    ``{`` opens JSON Lines, or an OpenAI document if the object has ``messages`` or continues on further lines. ``[``
    opens an OpenAI list, unless the following text is not JSON (``[2023-07-11 18:05] Ada: ...``). Everything else is
    chat text.
    """
    text = head.lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        return _detect_object_format(text)
    return Format.OPENAI if _LIST_OF_JSON.match(text) else Format.CHAT


def _detect_object_format(text: str) -> Format:
    first = text.split("\n", 1)[0].rstrip()
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(first)
    except (ValueError, RecursionError):  # cut short, spread over lines, or broken
        spread = first.endswith(("{", "[", ","))
        return Format.OPENAI if spread or _MESSAGES.search(first) else Format.JSONL
    return Format.OPENAI if "messages" in value else Format.JSONL
