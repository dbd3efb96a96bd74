"""What a method is built from."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.ports import Retriever
from recollect.retain.known_names import KnownNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one bank.

    ``model`` keeps that bank's ledger, and picks the model of each role by itself. ``names`` are the ones that the
    bank knows, shared by all who derive changes to it.
    """

    embedder: Embedder
    retriever: Retriever
    model: LanguageModel
    names: KnownNames
