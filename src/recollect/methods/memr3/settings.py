"""The constants of MemR3 (sections 3.4 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How far the loop goes.

    ``n_max`` is how often the model may decide; the last time it has to answer. ``n_chk`` is how many snippets a
    retrieval brings at most. After ``n_cap`` reflections in a row a retrieval follows, whatever the model decides
    (Algorithm 1); the paper gives no number: with 2, figure 1's answer right after a reflection is possible.

    ``settles`` is ours: where nothing but a finer precision is missing, and a retrieval has looked for that in vain,
    the question is answered at the precision that memory has. Without it, Algorithm 1 stands alone, and the sunrise of
    appendix B.5 is looked for until the budget is used up.

    Raises:
        InvalidInput: a number is below 1.
    """

    n_max: int = 5
    n_chk: int = 5
    n_cap: int = 2
    settles: bool = True

    def __post_init__(self) -> None:
        for name in ("n_max", "n_chk", "n_cap"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 1")
