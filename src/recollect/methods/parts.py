"""What a method is built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.ports import Retriever
from recollect.retain.known_names import KnownNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one bank.

    ``model`` keeps that bank's ledger, and picks the model of each role by itself. ``names`` are the ones that the
    bank knows, shared by all who derive changes to it. ``clock`` gives the aware present, by which it is told when
    something was stored; the present of a question may be another.
    """

    embedder: Embedder
    retriever: Retriever
    model: LanguageModel
    names: KnownNames
    clock: Callable[[], datetime]
