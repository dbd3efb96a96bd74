"""Read a data file, with the checksum that is published with its figures."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from recollect.errors import InvalidInput

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The unpacked text of a file, and the SHA-256 of its bytes on disk, packed or not."""

    name: str
    text: str
    checksum: str


def read_source(path: Path) -> SourceFile:
    """Read a UTF-8 file, gzip or plain.

    Raises:
        InvalidInput: the file cannot be read, cannot be unpacked, or is not UTF-8.
    """
    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
        text = data.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc
    name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    return SourceFile(name=name, text=text, checksum=sha256(raw).hexdigest())
