"""Read the files for evaluations, with one loader for each format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from recollect.errors import InvalidInput
from recollect_lab.datasets import jsonl, locomo, longmemeval
from recollect_lab.datasets.dataset import Dataset

LOADERS: Mapping[str, Callable[[Path], Dataset]] = {
    "jsonl": jsonl.load_jsonl,
    "locomo": locomo.load_locomo,
    "longmemeval": longmemeval.load_longmemeval,
}


def load_dataset(path: Path, *, kind: str) -> Dataset:
    """Read a data set with the loader of that name, a key of :data:`LOADERS`.

    Raises:
        InvalidInput: there is no such loader, or the file does not have its format.
    """
    if kind not in LOADERS:
        raise InvalidInput(f"no loader is called {kind!r}; there are {', '.join(LOADERS)}")
    return LOADERS[kind](path)
