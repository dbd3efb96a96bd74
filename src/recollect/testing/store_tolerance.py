"""The tolerance of a store's search, as its author declares it to the contract suite."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.testing.store_material import CLOSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """The largest difference between an engine's search and brute force. The default is an exact engine.

    See design/store-contract.md.

    Args:
        scores: the largest absolute error of a score or a signal. Vectors are stored in half precision.
        semantic: the share of the best items, of seven or more, that the semantic arm finds. Below 1 its vectors are
            searched approximately, and only the items that it finds are compared.
        lexical: true if words are scored by BM25 over the probe's terms. If an engine scores its own tokens, the
            lexical arm is checked only for its scope and its order, and the lexical signals are not compared.
    """

    scores: float = CLOSE
    semantic: float = 1.0
    lexical: bool = True

    def is_exact(self, arm: str) -> bool:
        """Return true if an arm finds exactly the items that brute force finds."""
        return {"semantic": self.semantic >= 1.0, "lexical": self.lexical}.get(arm, True)
