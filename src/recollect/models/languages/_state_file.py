"""Write and read a language model's state as a safetensors file. A file counts only if it is complete and unchanged.

This module writes and reads the format itself. So gigabytes are not collected or copied in memory, and types that numpy
does not have (bfloat16) pass as bytes. The package safetensors can read these files.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

ITEM_BYTES: Final = {"F32": 4, "F16": 2, "BF16": 2}

_DIGEST: Final = "digest"
_WORD_BYTES: Final = 8
_BLOCK_WORDS: Final = 1 << 16
_WEIGHTS: Final = np.arange(1, 2 * _BLOCK_WORDS, 2, dtype=np.uint64)
_MODULUS: Final = 1 << 64
_MOST_HEADER_BYTES: Final = 1 << 24
_READERS: Final = min(8, os.cpu_count() or 1)


class DamagedStateFile(Exception):
    """A file does not contain what was written into it. The message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorShape:
    """The name of a tensor, its type in the terms of safetensors, and its lengths."""

    name: str
    dtype: str
    lengths: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return ITEM_BYTES[self.dtype] * prod(self.lengths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """The shape of a tensor and its bytes: uint8 of shape ``(shape.size,)``."""

    shape: TensorShape
    data: Bytes


def compute_file_size(shapes: Sequence[TensorShape], about: Mapping[str, str]) -> int:
    """Return the size in bytes of a file with these tensors."""
    return len(_encode_header(shapes, _describe_file(about, ""))) + sum(shape.size for shape in shapes)


def write_tensors(
    file: BinaryIO, shapes: Sequence[TensorShape], data: Iterable[Bytes], about: Mapping[str, str]
) -> None:
    """Write tensors, the bytes of each in turn. ``about`` describes them in the header of the file.

    Raises:
        OSError: the file cannot be written, or only in part.
        ValueError: there are fewer or more bytes than the shapes say.
    """
    head = _encode_header(shapes, _describe_file(about, ""))
    file.write(bytes(len(head)))
    sums = []
    for shape, piece in zip(shapes, data, strict=True):
        if piece.size != shape.size:
            raise ValueError(f"{shape.name} has {piece.size} bytes, not {shape.size}")
        sums.append(compute_checksum(piece))
        file.write(piece.data)
    file.seek(0)
    file.write(_encode_header(shapes, _describe_file(about, _compute_digest(about, shapes, sums))))


def read_tensors(path: Path, about: Mapping[str, str]) -> list[Tensor]:
    """Return every tensor of a file, in the order in which they were written.

    Raises:
        Damaged: the file is cut short or has changed, or its header describes something else.
        OSError: the file cannot be read. It is FileNotFoundError if there is no file.
    """
    with path.open("rb") as file:
        start, told, shapes = _read_header(file, os.fstat(file.fileno()).st_size)
    digest = told.pop(_DIGEST, "")
    if told != dict(about):
        raise DamagedStateFile("its header says that it is another state")
    starts = accumulate((shape.size for shape in shapes), initial=start)
    with ThreadPoolExecutor(_READERS) as readers:  # reading and summing release the interpreter lock
        read = list(readers.map(partial(_read_piece, path), shapes, starts))
    if digest != _compute_digest(about, shapes, [one for _, one in read]):
        raise DamagedStateFile("its bytes have changed since it was written")
    return [Tensor(shape=shape, data=data) for shape, (data, _) in zip(shapes, read, strict=True)]


def compute_checksum(data: Bytes) -> int:
    """Return a 64-bit number that differs if any one word of the data changes.

    It is the sum of all words of eight bytes, each multiplied by an odd weight for its place. An odd weight never maps
    two words to the same product. It finds damage at the speed of memory, in a tenth of the time of SHA-256, which
    would take longer than a state saves. It does not protect against deliberate changes.
    """
    whole = data.size // _WORD_BYTES * _WORD_BYTES
    total = int.from_bytes(data[whole:].tobytes(), "little") + data.size
    words = data[:whole].view(np.uint64)
    for number, start in enumerate(range(0, words.size, _BLOCK_WORDS), start=1):
        block = words[start : start + _BLOCK_WORDS]
        total += (2 * number + 1) * int(np.dot(block, _WEIGHTS[: block.size]))
    return total % _MODULUS


def _read_piece(path: Path, shape: TensorShape, start: int) -> tuple[Bytes, int]:
    data = np.empty(shape.size, dtype=np.uint8)
    with path.open("rb") as file:
        file.seek(start)
        if file.readinto(data.data) != shape.size:
            raise DamagedStateFile("it is cut short")
    return data, compute_checksum(data)


def _encode_header(shapes: Sequence[TensorShape], about: Mapping[str, str]) -> bytes:
    """Return the start of a safetensors file: the length of a JSON object, and the object, padded to whole words."""
    cells: dict[str, Any] = {"__metadata__": dict(about)}
    end = 0
    for shape in shapes:
        start, end = end, end + shape.size
        cells[shape.name] = {"dtype": shape.dtype, "shape": list(shape.lengths), "data_offsets": [start, end]}
    text = json.dumps(cells, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _WORD_BYTES)
    return len(text).to_bytes(_WORD_BYTES, "little") + text


def _read_header(file: BinaryIO, size: int) -> tuple[int, dict[str, str], list[TensorShape]]:
    """Return where the tensors begin, the description in the file, and its tensors.

    Raises:
        Damaged: the file has no such header, or another length than the header says.
    """
    length = int.from_bytes(file.read(_WORD_BYTES), "little")
    if not 2 <= length <= min(size - _WORD_BYTES, _MOST_HEADER_BYTES):
        raise DamagedStateFile("it is cut short, or its header has changed")
    head = file.read(length)
    try:
        cells = json.loads(head)
        about = {str(name): str(value) for name, value in cells.pop("__metadata__").items()}
        shapes = [
            TensorShape(name=name, dtype=cell["dtype"], lengths=tuple(map(int, cell["shape"])))
            for name, cell in cells.items()
        ]
        written = _encode_header(shapes, about)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise DamagedStateFile("its header cannot be read") from exc
    if written != length.to_bytes(_WORD_BYTES, "little") + head:
        raise DamagedStateFile("its header has changed")
    if size != len(written) + sum(shape.size for shape in shapes):
        raise DamagedStateFile("it is cut short, or something was added to it")
    return len(written), about, shapes


def _describe_file(about: Mapping[str, str], digest: str) -> dict[str, str]:
    """Return the description of a file, with space for the digest from the beginning."""
    return {**about, _DIGEST: digest or "0" * hashlib.sha256().digest_size * 2}


def _compute_digest(about: Mapping[str, str], shapes: Sequence[TensorShape], sums: Sequence[int]) -> str:
    told = [sorted(about.items()), [[s.name, s.dtype, s.lengths] for s in shapes], list(sums)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
