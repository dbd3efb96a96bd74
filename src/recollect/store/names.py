"""The names of banks: check them, and compare their spellings."""

from __future__ import annotations

import re
from collections.abc import Collection

from recollect._unicode import normalize_unicode
from recollect.domain.checks import require_type
from recollect.errors import BadBankName, BankNameTaken

_NAME = re.compile(r"\w(?:[\w .@+-]{0,98}[\w@+-])?")
_MOST_BYTES = 240  # a file's name has at most 255 bytes, with its endings
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def checked_name(name: str) -> str:
    """Return the name, normalised (NFC), if it can be a file's name on any system and cannot leave its folder.

    Raises:
        BadBankName: the name is not allowed. The message says which names are.
    """
    name = normalize_unicode("NFC", require_type("the name of a bank", name, str, "a string"))
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name) or ".." in name or len(name.encode()) > _MOST_BYTES:
        raise BadBankName(
            f"{name!r} cannot be a bank's name: use 1 to 100 letters, digits, blanks and . _ @ + - (at most "
            f"{_MOST_BYTES} bytes in UTF-8), beginning with a letter or digit, not ending with a dot or blank"
        )
    return name


def name_key(name: str) -> str:
    """Return the key that all spellings of a name have in common, by Unicode's canonical caseless matching.

    Some file systems distinguish "Ada" from "ada", or a letter with an accent from the same letter with a combining
    accent. Others do not. No two banks of a store may have the same key, so that a store means the same everywhere.
    """
    return name.lower() if name.isascii() else _decomposed(_decomposed(name).casefold())


def find_name(name: str, names: Collection[str]) -> str | None:
    """Return the name if it is among these names, or ``None`` if none of them has its key.

    Raises:
        BankNameTaken: one of them is the same name in another spelling.
    """
    if name in names:
        return name
    key = name_key(name)
    for known in names:
        if name_key(known) == key:
            raise BankNameTaken(name, known)
    return None


def _decomposed(text: str) -> str:
    return normalize_unicode("NFD", text)
