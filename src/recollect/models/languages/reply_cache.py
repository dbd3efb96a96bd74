"""The folders in which replies of models are kept, and how forgetting reaches them.

A kept reply names no bank, because several banks may ask the same. So forgetting removes every reply that quotes a
forgotten text, whoever asked for it. The model is asked again, which costs a call and loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.domain.receipts import ForgottenReplies

if TYPE_CHECKING:
    from recollect.text.quotes import Quotes


@runtime_checkable
class CachingModel(Protocol):
    """A language model that keeps replies in folders, itself or by a model that it wraps."""

    def cache_folders(self) -> frozenset[Path]:
        """Return the folders of the replies."""
        ...


def list_cache_folders(model: object) -> frozenset[Path]:
    """Return the folders in which a model keeps replies. Most models keep none."""
    return model.cache_folders() if isinstance(model, CachingModel) else frozenset()


def forget_replies(folders: Iterable[Path], quotes: Quotes) -> ForgottenReplies:
    """Remove every kept reply that contains a telling span. A folder is read once."""
    removed, left = 0, list[str]()
    for file in (file for folder in folders if quotes for file in _list_files(folder)):
        try:
            if _quotes_any(file.read_bytes(), quotes):
                file.unlink()
                removed += 1
        except FileNotFoundError:
            pass  # another process has removed it
        except OSError:
            left.append(str(file))
    return ForgottenReplies(removed=removed, left=tuple(left))


def _list_files(folder: Path) -> list[Path]:
    """Return the replies in a folder, half-written ones included."""
    return sorted(path for path in folder.glob("*/*") if path.suffix in (".txt", ".part") and path.is_file())


def _quotes_any(reply: bytes, quotes: Quotes) -> bool:
    text = reply.decode("utf-8", "replace")
    if quotes.is_in(text):
        return True
    with suppress(ValueError, RecursionError):
        return any(map(quotes.is_in, _list_strings(json.loads(text))))
    return False


def _list_strings(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value, without JSON's escapes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _list_strings(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _list_strings(one)
