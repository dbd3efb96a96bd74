"""Links between items (Hindsight, section 4.1.4; REMem's edges)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LinkKind(StrEnum):
    """Why two items are linked."""

    TEMPORAL = "temporal"
    SEMANTIC = "semantic"
    ENTITY = "entity"
    CAUSAL = "causal"
    RELATION = "relation"
    CONTEXT = "context"
    SYNONYMY = "synonymy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link between two items, walked both ways; ``weight`` in [0, 1], ``label`` says more (a cause, a predicate)."""

    source: str
    target: str
    kind: LinkKind
    weight: float
    label: str = ""
