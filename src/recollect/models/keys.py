"""Keep keys out of everything that is shown or stored: errors, jobs, logs and representations of settings.

A server may quote a key in its answer: whole or cut, percent-encoded, with the escapes of JSON or HTML, in another
case, in base64. So the text is decoded first, with the place of every character, and then every part of a key is
masked. Mask a text before it is cut. The rest of a key at a cut is masked too, but a very short rest looks like words.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

MASK: Final = "[key]"
PART_CHARACTERS: Final = 6
"""The shortest part of a key that is masked inside a text. At the end of a text, three characters are masked."""

_END_CHARACTERS: Final = 3
_MOST_LAYERS: Final = 3
_MIN_URL_KEY: Final = 4
_ESCAPE: Final = re.compile(
    r"%(?P<percent>[0-9a-fA-F]{2})|\\u00(?P<json>[0-9a-fA-F]{2})|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<sign>[/\"'\\])"
    r"|&#(?P<decimal>\d{2,3});|&#[xX](?P<entity>[0-9a-fA-F]{2});|&(?P<name>amp|lt|gt|quot|apos);"
)
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_STARS: Final = re.compile(r"\*{2,}|…|\.{3,}")
_USER: Final = re.compile(r"(?P<scheme>\w+://)[^\s/?#]*@")
_QUERY: Final = re.compile(r"(?P<address>\w+://[^\s?#]*)[?#][^\s'\")\]]*")

Spans = list[tuple[int, int]]


def mask_keys(text: str, keys: Iterable[str]) -> str:
    """Return the text with ``[key]`` in place of every key and of every part of a key."""
    wanted = [form for key in keys if key for form in _list_forms(key)]
    if not wanted or not text:
        return text
    decoded, spans = _decode(text)
    low = decoded.casefold() if len(decoded.casefold()) == len(decoded) else decoded
    hidden = bytearray(len(low))
    for key in wanted:
        _hide_key(low, key, hidden)
    return _replace_hidden(text, spans, hidden)


def list_url_keys(url: str | None) -> tuple[str, ...]:
    """Return the parts of an address that may be keys: its password, or its user alone, and the values of its query."""
    try:
        parts = urlsplit(url or "")
        named = [unquote(parts.password or parts.username or "")]
    except ValueError:
        return ()
    named += [value for _, value in parse_qsl(parts.query)]
    return tuple(dict.fromkeys(value for value in named if len(value) >= _MIN_URL_KEY))


def hide_credentials(text: str) -> str:
    """Return a text in which every address lacks its user, its password, its query and its fragment."""
    return _QUERY.sub(r"\g<address>", _USER.sub(r"\g<scheme>", text))


def _list_forms(key: str) -> set[str]:
    """Return a key in lower case, and the parts of its base64 and hexadecimal forms that no other text changes."""
    forms = {key.casefold()}
    data = key.encode()
    if len(data) >= PART_CHARACTERS:
        forms.add(data.hex())
        for shift in range(3):
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                coded = encode(bytes(shift) + data).decode().rstrip("=")
                forms.add(coded[-(-shift * 8 // 6) : len(coded) - bool((len(data) + shift) % 3)].casefold())
    return forms


def _hide_key(low: str, key: str, hidden: bytearray) -> None:
    """Mark the characters of a key, of its parts, and of a piece of it at the end of a text or beside stars."""
    at = low.find(key)
    while at >= 0:
        hidden[at : at + len(key)] = b"\1" * len(key)
        at = low.find(key, at + len(key))
    if len(key) <= PART_CHARACTERS:
        return
    parts = {key[at : at + PART_CHARACTERS] for at in range(len(key) - PART_CHARACTERS + 1)}
    for at in range(len(low) - PART_CHARACTERS + 1):
        if low[at : at + PART_CHARACTERS] in parts:
            hidden[at : at + PART_CHARACTERS] = b"\1" * PART_CHARACTERS
    for length in range(min(len(key), len(low)), _END_CHARACTERS - 1, -1):
        if low.endswith(key[:length]):
            hidden[len(low) - length :] = b"\1" * length
            break
    for match in _STARS.finditer(low):
        head, tail = low[max(0, match.start() - len(key)) : match.start()], low[match.end() : match.end() + len(key)]
        before = next((n for n in range(min(len(head), len(key)), 1, -1) if head.endswith(key[:n])), 0)
        after = next((n for n in range(min(len(tail), len(key)), 1, -1) if tail.startswith(key[-n:])), 0)
        if before or after:
            hidden[match.start() - before : match.end() + after] = b"\1" * (len(match[0]) + before + after)


def _replace_hidden(text: str, spans: Spans, hidden: bytearray) -> str:
    pieces, done, at = list[str](), 0, 0
    while (at := hidden.find(1, at)) >= 0:
        end = hidden.find(0, at)
        end = len(hidden) if end < 0 else end
        pieces += (text[done : spans[at][0]], MASK)
        done, at = spans[end - 1][1], end
    return "".join((*pieces, text[done:]))


def _decode(text: str) -> tuple[str, Spans]:
    """Return a text without escapes, up to three layers of them, and the place of each character in the given text."""
    spans = [(at, at + 1) for at in range(len(text))]
    for _ in range(_MOST_LAYERS):
        if not any(mark in text for mark in "%\\&"):
            break
        text, spans, changed = _decode_once(text, spans)
        if not changed:
            break
    return text, spans


def _decode_once(text: str, spans: Spans) -> tuple[str, Spans, bool]:
    letters, places, done = list[str](), Spans(), 0
    for match in _ESCAPE.finditer(text):
        letters += text[done : match.start()]
        places += spans[done : match.start()]
        letters.append(_read_escape(match))
        places.append((spans[match.start()][0], spans[match.end() - 1][1]))
        done = match.end()
    letters += text[done:]
    places += spans[done:]
    return "".join(letters), places, done > 0


def _read_escape(match: re.Match[str]) -> str:
    if match["sign"]:
        return match["sign"]
    if match["name"]:
        return _ENTITIES[match["name"]]
    if match["decimal"]:
        return chr(int(match["decimal"]))
    return chr(int(match["percent"] or match["json"] or match["hex"] or match["entity"], 16))


def shows_key(text: str, keys: Sequence[str]) -> bool:
    """Return true if a text contains a key, or a part of one."""
    return mask_keys(text, keys) != text
