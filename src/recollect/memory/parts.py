"""What a bank works with, for whoever builds on one."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.models.language import LanguageModel
from recollect.ports import Retriever
from recollect.store.protocol import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class BankParts:
    """What finds, reads and thinks for a bank. Nothing of it changes the bank, except that ``model`` keeps its ledger.

    ``retriever`` is the recipe's own, and is given ``reader``. ``model`` keeps to the bank's limits.
    """

    retriever: Retriever
    reader: StoreReader
    model: LanguageModel
