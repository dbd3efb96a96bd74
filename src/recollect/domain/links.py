"""Links between items (Hindsight, section 4.1.4; REMem's edges)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LinkKind(StrEnum):
    """The reason for a link between two items."""

    TEMPORAL = "temporal"
    SEMANTIC = "semantic"
    ENTITY = "entity"
    CAUSAL = "causal"
    RELATION = "relation"
    CONTEXT = "context"
    SYNONYMY = "synonymy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link between two items. A search follows it in both directions.

    ``weight`` is in [0, 1]. ``label`` has details, such as the kind of cause or the predicate.
    """

    source: str
    target: str
    kind: LinkKind
    weight: float
    label: str = ""
