"""States of language models in a folder beside a bank: what a model knows after it has read a prompt's prefix.

E-mem, 3.5 and equation 9: a segment's state is the keys and values of all its layers. It is derived and can be made
again, so that any of it may be missing, be evicted or be thrown away; but it may tell of every word that was read, so
that forgetting erases all of it (:mod:`recollect.store.sqlite.states`).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar, runtime_checkable

from recollect.errors import InvalidInput
from recollect.models.languages._statefile import Bytes, Damaged, Shape, Tensor, file_size, read_tensors, write_tensors

FORMAT: Final = "recollect-state-1"
MAX_BYTES: Final = 4 * 1024**3
QUIET_S: Final = 600.0

_SUFFIX: Final = ".safetensors"
_DRAFT: Final = ".part"
_DRAFT_S: Final = 3600.0

M = TypeVar("M")


@runtime_checkable
class KeepsStates(Protocol):
    """A language model that keeps states of what it has read in a folder."""

    def beside(self, folder: Path) -> KeepsStates:
        """The same model with its states in this folder."""
        ...


def beside(model: M, folder: Path) -> M:
    """The model with its states in this folder, made if it is not there; one that keeps none as it is."""
    return model.beside(folder) if isinstance(model, KeepsStates) else model  # type: ignore[return-value]  # the same kind


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKey:
    """What a state depends on: another key, another state.

    ``model`` is a fingerprint of a model's configuration, its weights and its tokenizer, ``dtype`` the type of its
    numbers, ``tokens`` what was read, from the beginning.
    """

    model: str
    dtype: str
    tokens: tuple[int, ...]

    @property
    def digest(self) -> str:
        """A name for the state: 64 hexadecimal digits."""
        told = json.dumps([FORMAT, self.model, self.dtype, self.tokens])
        return hashlib.sha256(told.encode()).hexdigest()

    def about(self, layers: int) -> dict[str, str]:
        """What a state's file says of itself."""
        return {
            "format": FORMAT,
            "key": self.digest,
            "model": self.model,
            "dtype": self.dtype,
            "tokens": str(len(self.tokens)),
            "layers": str(layers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was looked for: no tensors where there was no state; ``note`` says where there was one that is damaged."""

    tensors: tuple[Tensor, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Keeps states, a file each, up to so many bytes in all; those not used for longest give way.

    Several processes may share one. Files lie in a folder within, with a name of its own that is known to those who
    begin while it is there: whoever began before the folder was erased finds no place to write to, so that what was
    forgotten does not come back. For ten minutes after it was erased no state is kept, since a prompt may have been
    made of what was read before.

    Raises:
        InvalidInput: ``max_bytes`` is less than 1.
    """

    folder: Path
    max_bytes: int = MAX_BYTES
    quiet_s: float = field(default=QUIET_S, repr=False)

    def __post_init__(self) -> None:
        if self.max_bytes < 1:
            raise InvalidInput(f"states may take {self.max_bytes} bytes; it must be 1 at least")

    def place(self) -> Path | None:
        """Where states lie, made if need be; to be asked for when a prompt arrives, and not later.

        ``None`` where none may be kept: just after the folder was erased, or because it cannot be made.
        """
        try:
            fresh = self._made()
            if not (place := self._first()) and (fresh or time.time() - self.folder.stat().st_mtime > self.quiet_s):
                (self.folder / uuid.uuid4().hex).mkdir(mode=0o700)
                place = self._first()  # another process may have been faster
        except OSError:
            return None
        return place

    def load(self, place: Path, key: StateKey, layers: int) -> Found:
        """The state of a key, as it was written; a damaged file is removed."""
        path = _file(place, key)
        try:
            tensors = read_tensors(path, key.about(layers))
            _require_whole(tensors, key, layers)
            os.utime(path)
        except FileNotFoundError:
            return Found()
        except (Damaged, OSError) as exc:
            with suppress(OSError):
                path.unlink()
            return Found(note=f"a kept state could not be used, and the model read its text again: {exc}")
        return Found(tensors=tuple(tensors))

    def keep(self, place: Path, key: StateKey, shapes: Sequence[Shape], data: Iterable[Bytes]) -> str:
        """Keep a state: the keys and values of each layer in turn. Gives why it was not kept, or nothing.

        Nothing is kept, and nothing said, where the folder has been erased since ``place`` was asked for.
        """
        about = key.about(len(shapes) // 2)
        size = file_size(shapes, about)
        if size > self.max_bytes:
            return f"a state of {size:,} bytes was not kept, since all of them may take {self.max_bytes:,}"
        draft = place / f"{uuid.uuid4().hex}{_DRAFT}"
        try:
            self._make_room(place, size)
            with open(draft, "xb", opener=_for_its_owner) as file:
                write_tensors(file, shapes, data, about)
            draft.replace(_file(place, key))
            self._make_room(place, 0)  # another process may have written one at the same time
        except OSError as exc:
            with suppress(OSError):
                draft.unlink()
            return f"a state could not be kept: {exc}" if place.exists() else ""
        return ""

    def _made(self) -> bool:
        """Make the folder; gives whether there was none."""
        try:
            self.folder.mkdir(mode=0o700)
        except FileExistsError:
            return False
        return True

    def _first(self) -> Path | None:
        return min((entry for entry in self.folder.iterdir() if entry.is_dir()), default=None)

    def _make_room(self, place: Path, needed: int) -> None:
        """Remove the states that were not used for longest, and what killed processes left half written."""
        old = time.time() - _DRAFT_S
        files = sorted((stat.st_mtime, path, stat.st_size) for path, stat in _stats(place))
        for used, path, _ in files:
            if path.suffix == _DRAFT and used < old:
                path.unlink(missing_ok=True)
        states = [(path, size) for _, path, size in files if path.suffix == _SUFFIX]
        taken = sum(size for _, size in states)
        for path, size in states:
            if taken + needed <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            taken -= size


def _file(place: Path, key: StateKey) -> Path:
    return place / f"{key.digest}{_SUFFIX}"


def _stats(place: Path) -> Iterable[tuple[Path, os.stat_result]]:
    for path in place.iterdir():
        with suppress(FileNotFoundError):  # another process has removed it
            yield path, path.stat()


def _require_whole(tensors: Sequence[Tensor], key: StateKey, layers: int) -> None:
    """Refuse what is not a key and a value for every token of every layer, of shape (1, heads, tokens, length).

    Raises:
        Damaged: it is not.
    """
    names = [f"{kind}.{layer}" for layer in range(layers) for kind in ("keys", "values")]
    if [tensor.shape.name for tensor in tensors] != names:
        raise Damaged("its layers are not those of the model")
    for shape in (tensor.shape for tensor in tensors):
        fits = len(shape.lengths) == 4 and shape.lengths[0] == 1 and shape.lengths[2] == len(key.tokens)
        if not fits or shape.dtype != key.dtype:
            raise Damaged(f"its {shape.name} are {shape.dtype} of {shape.lengths}, for {len(key.tokens)} tokens")


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
