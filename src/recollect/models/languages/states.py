"""Keep the states of language models in a folder next to a bank. A state follows from reading the prefix of a prompt.

E-mem, 3.5 and equation 9: the state of a segment is the keys and values of all its layers. A state is derived and can
be made again, so it may be missing, evicted or deleted. It may reveal every word that was read, so forgetting erases
all states (:mod:`recollect.store.sqlite.state_folders`).
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
from recollect.models.languages._state_file import (
    Bytes,
    DamagedStateFile,
    Tensor,
    TensorShape,
    compute_file_size,
    read_tensors,
    write_tensors,
)

FORMAT: Final = "recollect-state-1"
MAX_BYTES: Final = 4 * 1024**3
QUIET_S: Final = 600.0

_SUFFIX: Final = ".safetensors"
_DRAFT_SUFFIX: Final = ".part"
_DRAFT_S: Final = 3600.0

M = TypeVar("M")


@runtime_checkable
class StatefulModel(Protocol):
    """A language model that keeps its states in a folder."""

    def with_state_folder(self, folder: Path) -> StatefulModel:
        """Return the same model with its states in this folder."""
        ...


def with_state_folder(model: M, folder: Path) -> M:
    """Return the model with its states in this folder, which is made if needed. A model without states stays as it
    is.
    """
    return model.with_state_folder(folder) if isinstance(model, StatefulModel) else model  # type: ignore[return-value]  # the same kind


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKey:
    """Identifies a saved state by everything that it depends on. Two states with different keys are different.

    ``model`` is a fingerprint of the configuration, the weights and the tokenizer of a model. ``dtype`` is the type of
    its numbers. ``tokens`` are the tokens that were read, from the beginning.
    """

    model: str
    dtype: str
    tokens: tuple[int, ...]

    @property
    def digest(self) -> str:
        """Return a name for the state: 64 hexadecimal digits."""
        told = json.dumps([FORMAT, self.model, self.dtype, self.tokens])
        return hashlib.sha256(told.encode()).hexdigest()

    def describe(self, layers: int) -> dict[str, str]:
        """Return the description in the file of a state."""
        return {
            "format": FORMAT,
            "key": self.digest,
            "model": self.model,
            "dtype": self.dtype,
            "tokens": str(len(self.tokens)),
            "layers": str(layers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedState:
    """The result of a search for a state. It has no tensors if there was no state. ``note`` reports a damaged state."""

    tensors: tuple[Tensor, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Keeps states, one file each, up to a number of bytes. The states that were not used for the longest time are
    removed.

    Several processes may share a folder. The files lie in an inner folder with a name of its own. A process that began
    before the folder was erased knows only the old name and finds no place to write, so forgotten words do not return.
    For ten minutes after an erasure no state is kept, because a prompt may still contain words that were read before
    it.

    Raises:
        InvalidInput: ``max_bytes`` is less than 1.
    """

    folder: Path
    max_bytes: int = MAX_BYTES
    quiet_s: float = field(default=QUIET_S, repr=False)

    def __post_init__(self) -> None:
        if self.max_bytes < 1:
            raise InvalidInput(f"states may take {self.max_bytes} bytes; it must be 1 at least")

    def locate(self) -> Path | None:
        """Return the inner folder of the states, made if needed. Call it when a prompt arrives, and not later.

        It is ``None`` if no state may be kept: soon after the folder was erased, or if the folder cannot be made.
        """
        try:
            fresh = self._make_folder()
            if not (place := self._first_place()) and (
                fresh or time.time() - self.folder.stat().st_mtime > self.quiet_s
            ):
                (self.folder / uuid.uuid4().hex).mkdir(mode=0o700)
                place = self._first_place()  # another process may have been faster
        except OSError:
            return None
        return place

    def load(self, place: Path, key: StateKey, layers: int) -> LoadedState:
        """Return the state of a key as it was written. A damaged file is removed."""
        path = _state_path(place, key)
        try:
            tensors = read_tensors(path, key.describe(layers))
            _require_whole(tensors, key, layers)
            os.utime(path)
        except FileNotFoundError:
            return LoadedState()
        except (DamagedStateFile, OSError) as exc:
            with suppress(OSError):
                path.unlink()
            return LoadedState(note=f"a kept state could not be used, and the model read its text again: {exc}")
        return LoadedState(tensors=tuple(tensors))

    def save(self, place: Path, key: StateKey, shapes: Sequence[TensorShape], data: Iterable[Bytes]) -> str:
        """Keep a state: the keys and values of each layer in turn. Return the reason if it was not kept, or "".

        If the folder has been erased since the call of ``locate``, nothing is kept and no reason is returned.
        """
        about = key.describe(len(shapes) // 2)
        size = compute_file_size(shapes, about)
        if size > self.max_bytes:
            return f"a state of {size:,} bytes was not kept, since all of them may take {self.max_bytes:,}"
        draft = place / f"{uuid.uuid4().hex}{_DRAFT_SUFFIX}"
        try:
            self._make_room(place, size)
            with open(draft, "xb", opener=_open_for_owner) as file:
                write_tensors(file, shapes, data, about)
            draft.replace(_state_path(place, key))
            self._make_room(place, 0)  # another process may have written a state at the same time
        except OSError as exc:
            with suppress(OSError):
                draft.unlink()
            return f"a state could not be kept: {exc}" if place.exists() else ""
        return ""

    def _make_folder(self) -> bool:
        """Make the folder, and return true if there was none."""
        try:
            self.folder.mkdir(mode=0o700)
        except FileExistsError:
            return False
        return True

    def _first_place(self) -> Path | None:
        return min((entry for entry in self.folder.iterdir() if entry.is_dir()), default=None)

    def _make_room(self, place: Path, needed: int) -> None:
        """Remove the states that were not used for the longest time, and half-written files of killed processes."""
        old = time.time() - _DRAFT_S
        files = sorted((stat.st_mtime, path, stat.st_size) for path, stat in _list_files(place))
        for used, path, _ in files:
            if path.suffix == _DRAFT_SUFFIX and used < old:
                path.unlink(missing_ok=True)
        states = [(path, size) for _, path, size in files if path.suffix == _SUFFIX]
        taken = sum(size for _, size in states)
        for path, size in states:
            if taken + needed <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            taken -= size


def _state_path(place: Path, key: StateKey) -> Path:
    return place / f"{key.digest}{_SUFFIX}"


def _list_files(place: Path) -> Iterable[tuple[Path, os.stat_result]]:
    for path in place.iterdir():
        with suppress(FileNotFoundError):  # another process has removed it
            yield path, path.stat()


def _require_whole(tensors: Sequence[Tensor], key: StateKey, layers: int) -> None:
    """Refuse tensors that are not a key and a value for every token of every layer, of shape (1, heads, tokens,
    length).

    Raises:
        Damaged: the tensors are different.
    """
    names = [f"{kind}.{layer}" for layer in range(layers) for kind in ("keys", "values")]
    if [tensor.shape.name for tensor in tensors] != names:
        raise DamagedStateFile("its layers are not those of the model")
    for shape in (tensor.shape for tensor in tensors):
        fits = len(shape.lengths) == 4 and shape.lengths[0] == 1 and shape.lengths[2] == len(key.tokens)
        if not fits or shape.dtype != key.dtype:
            raise DamagedStateFile(
                f"its {shape.name} are {shape.dtype} of {shape.lengths}, for {len(key.tokens)} tokens"
            )


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
