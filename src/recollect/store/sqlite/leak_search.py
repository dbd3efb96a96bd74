"""Search a bank's files for words that should be gone.

The words are searched for as bytes: as they are, and as JSON writes them in captions, jobs and settings.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.raw_files import open_raw

_PIECE_CHARACTERS = 48
_MIN_PIECE_CHARACTERS = 6  # shorter pieces occur by chance
_KEY_BYTES = 8
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_TABLE_BITS = 22
_BLOCK = 1 << 22
_OVERLAP = 12 * _PIECE_CHARACTERS  # so that no piece is missed at the end of a block


def split_pieces(texts: Sequence[str]) -> list[str]:
    """Cut the texts into short pieces and return each piece once.

    Pieces that are too short to prove anything are left out, and so are pieces that every file contains.
    """
    return list(
        dict.fromkeys(
            piece
            for text in texts
            for piece in _cut_text(text)
            if len(piece.encode()) >= _MIN_PIECE_CHARACTERS and not _is_everywhere(piece)
        )
    )


def is_searchable(text: str) -> bool:
    """Return false for a text of NUL characters. Every file contains them, so their absence cannot be shown."""
    return not text or not _is_everywhere(text)


def _is_everywhere(piece: str) -> bool:
    return len(piece.strip("\0").encode()) < _MIN_PIECE_CHARACTERS and "\0" in piece


def _cut_text(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield text[start : start + _PIECE_CHARACTERS]


def find_pieces(file: Path, pieces: Sequence[str]) -> set[str]:
    """Return the pieces that a file contains, after one pass over the file. A file that is gone contains none.

    The number of passes does not depend on the number of pieces.
    """
    return _find_in_windows(_read_windows(file), pieces) if pieces else set()


def find_pieces_in_cells(cells: Iterable[bytes], pieces: Collection[str]) -> set[str]:
    """Return the pieces that some cells of a table contain, after one pass over the cells."""
    return _find_in_windows(_join_cells(cells), pieces) if pieces else set()


def _find_in_windows(windows: Iterable[bytes], pieces: Collection[str]) -> set[str]:
    wanted = {form: piece for piece in pieces for form in _list_forms(piece)}
    short = [form for form in wanted if len(form) < _KEY_BYTES]
    by_key: dict[bytes, dict[int, set[bytes]]] = {}  # by length: many pieces may begin with the same words
    for form in wanted.keys() - set(short):
        by_key.setdefault(form[:_KEY_BYTES], {}).setdefault(len(form), set()).add(form)
    found: set[bytes] = set()
    for window in windows:
        found.update(form for form in short if form in window)
        for at in _find_places(window, by_key):
            for length, forms in by_key.get(window[at : at + _KEY_BYTES], {}).items():
                if (form := window[at : at + length]) in forms:
                    found.add(form)
    return {wanted[form] for form in found}


def _list_forms(piece: str) -> set[bytes]:
    """Return the bytes of a piece as text, and as JSON writes it."""
    written = (piece, json.dumps(piece, ensure_ascii=False)[1:-1], json.dumps(piece)[1:-1])
    return {form.encode("utf-8", "replace") for form in written}


def _join_cells(cells: Iterable[bytes]) -> Iterator[bytes]:
    joined, size = list[bytes](), 0
    for cell in cells:
        joined.append(cell)
        size += len(cell)
        if size > _BLOCK:
            yield b"\n".join(joined)
            joined, size = [], 0
    yield b"\n".join(joined)


def _read_windows(file: Path) -> Iterator[bytes]:
    try:
        with open_raw(file) as opened:
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
