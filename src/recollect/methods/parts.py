"""What a method is built from."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.ports.retriever import Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one bank. ``model`` keeps that bank's ledger, and picks the model of each role by itself."""

    embedder: Embedder
    retriever: Retriever
    model: LanguageModel
