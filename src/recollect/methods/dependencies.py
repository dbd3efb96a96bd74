"""What the parts of a recipe are built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.ports import Retriever
from recollect.retain.entity_directory import DirectoryCache

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What a recipe's parts work with in one bank.

    ``model`` keeps that bank's ledger, and picks the model of each role by itself. ``names`` are the names that the
    bank knows, shared by all who derive changes to it. ``clock`` gives the aware present, by which it is told when
    something was stored; the present of a question may be another. ``retriever`` finds evidence.
    """

    embedder: Embedder
    retriever: Retriever
    model: LanguageModel
    names: DirectoryCache
    clock: Callable[[], datetime]


Factory = Callable[[Dependencies], T]
"""Makes one part of a recipe for one bank: a class, or ``functools.partial`` of it with its settings."""
