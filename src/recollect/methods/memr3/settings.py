"""The constants of MemR3 (sections 3.4 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """Settings that limit the loop.

    ``n_max`` is the number of decisions that the model may take. The last one has to be an answer. ``n_chk`` is the
    largest number of snippets of one retrieval. After ``n_cap`` reflections in a row a retrieval follows, whatever the
    model decides (Algorithm 1). The paper gives no number for it. With 2, the loop can answer right after a reflection,
    as in figure 1.

    ``settles`` is ours. It applies if only a finer precision is missing, and a retrieval has searched for that in vain.
    Then the question is answered at the precision that memory has. Without it, only Algorithm 1 decides, and the search
    for the sunrise of appendix B.5 goes on until the budget is used up.

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
