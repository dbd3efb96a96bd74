"""Search a bank's files for words that should be gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_PIECE_CHARACTERS = 48
_MIN_PIECE_CHARACTERS = 6  # shorter pieces occur by chance
_KEY_BYTES = 8
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_TABLE_BITS = 22
_BLOCK = 1 << 22
_OVERLAP = 4 * _PIECE_CHARACTERS  # so that no piece is missed at the end of a block


def split_pieces(texts: Sequence[str]) -> list[str]:
    """Cut the texts into short pieces and return each piece once.

    Pieces that are too short to prove anything are left out.
    """
    return list(
        dict.fromkeys(
            piece for text in texts for piece in _cut_text(text) if len(piece.encode()) >= _MIN_PIECE_CHARACTERS
        )
    )


def _cut_text(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield text[start : start + _PIECE_CHARACTERS]


def find_pieces(file: Path, pieces: Sequence[str]) -> set[str]:
    """Return the pieces that a file contains, after one pass over the file. A file that is gone contains none.

    The number of passes does not depend on the number of pieces.
    """
    wanted = {piece.encode(): piece for piece in pieces}
    short = [piece for piece in wanted if len(piece) < _KEY_BYTES]
    by_key: dict[bytes, list[bytes]] = {}
    for piece in wanted.keys() - set(short):
        by_key.setdefault(piece[:_KEY_BYTES], []).append(piece)
    found: set[bytes] = set()
    for window in _read_windows(file) if wanted else ():
        found.update(piece for piece in short if piece in window)
        for at in _find_places(window, by_key):
            there = by_key.get(window[at : at + _KEY_BYTES], ())
            found.update(piece for piece in there if window.startswith(piece, at))
    return {wanted[piece] for piece in found}


def _read_windows(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as opened:
            window = b""
            while block := opened.read(_BLOCK):
                window = window[-_OVERLAP:] + block
                yield window
    except FileNotFoundError:
        return


def _find_places(window: bytes, keys: Mapping[bytes, object]) -> Iterator[int]:
    """Yield the positions in a window at which a key may be."""
    if not keys:
        return
    table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
    table[_hash_keys(np.frombuffer(b"".join(keys), dtype="<u8"))] = True
    for shift in range(_KEY_BYTES):
        count = max(0, len(window) - shift) // _KEY_BYTES
        hits = table[_hash_keys(np.frombuffer(window, dtype="<u8", offset=shift, count=count))] if count else ()
        yield from (np.flatnonzero(hits) * _KEY_BYTES + shift).tolist()


def _hash_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (keys * _HASH_MULTIPLIER) >> np.uint64(64 - _TABLE_BITS)
