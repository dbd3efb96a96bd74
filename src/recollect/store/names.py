"""The names of banks: which are allowed, and which count as the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from recollect.errors import BadBankName, BankNameTaken

_NAME = re.compile(r"\w(?:[\w .@+-]{0,98}[\w@+-])?")
_MOST_BYTES = 240  # a file's name has at most 255, endings included
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def checked_name(name: str) -> str:
    """Return the name, normalised (NFC), if it can be a file's on any system and cannot leave its folder.

    Raises:
        BadBankName: says what is allowed.
    """
    name = unicodedata.normalize("NFC", name)
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name) or ".." in name or len(name.encode()) > _MOST_BYTES:
        raise BadBankName(
            f"{name!r} cannot be a bank's name: use 1 to 100 letters, digits, blanks and . _ @ + - (at most "
            f"{_MOST_BYTES} bytes in UTF-8), beginning with a letter or digit, not ending with a dot or blank"
        )
    return name


def name_key(name: str) -> str:
    """Return what two spellings of a name share: Unicode's canonical caseless matching.

    File systems differ in whether they tell "Ada" from "ada", or a letter with an accent from the same letter and a
    combining accent. No two banks of a store may have the same key, so that a store means the same everywhere.
    """
    return name.lower() if name.isascii() else _decomposed(_decomposed(name).casefold())


def find_name(name: str, names: Collection[str]) -> str | None:
    """Return the name if it is one of these, and ``None`` if none of them has its key.

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
    return unicodedata.normalize("NFD", text)
