"""What a store's search may do less exactly than the contract's brute force, as its author declares it to the suite."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.testing.store_material import CLOSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far an engine's search may be from brute force; the default is an exact engine. See design/store-contract.md.

    Args:
        scores: the largest absolute error of a score or a signal; vectors are kept in half precision.
        semantic: the share of the best items, of seven or more, that the semantic arm finds; below 1 its vectors are
            searched approximately, and only what it finds is compared.
        lexical: whether words are scored by BM25 over the probe's terms. Where an engine scores its own tokens, the
            lexical arm is checked for its scope and its order alone, and the lexical signals are not compared.
    """

    scores: float = CLOSE
    semantic: float = 1.0
    lexical: bool = True

    def is_exact(self, arm: str) -> bool:
        """Return whether an arm finds exactly what brute force finds."""
        return {"semantic": self.semantic >= 1.0, "lexical": self.lexical}.get(arm, True)
