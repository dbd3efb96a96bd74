"""Banks and who they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    """Hindsight's behavioural parameters (section 5.1): three traits from 1 to 5, and how strongly they bias."""

    skepticism: int = 3
    literalism: int = 3
    empathy: int = 3
    bias_strength: float = 0.5

    def __post_init__(self) -> None:
        for trait in (self.skepticism, self.literalism, self.empathy):
            if not 1 <= trait <= 5:
                raise ValueError("skepticism, literalism and empathy lie between 1 and 5")
        if not 0.0 <= self.bias_strength <= 1.0:
            raise ValueError("bias_strength lies between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Who a bank's agent is."""

    name: str
    background: str = ""
    disposition: Disposition = Disposition()


@dataclass(frozen=True, slots=True, kw_only=True)
class BankInfo:
    """A bank in numbers; ``size_bytes`` counts all its files."""

    name: str
    messages: int
    sessions: int
    items: int
    entities: int
    links: int
    first: datetime | None
    last: datetime | None
    embedder: str
    dimension: int
    size_bytes: int
