"""Banks and the profiles of their agents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.domain.checks import require_text, require_type
from recollect.errors import InvalidInput

TRAIT_LEVELS = range(1, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    """The behavioural profile of an agent (Hindsight, section 5.2.1, equations 18 to 21).

    ``skepticism`` (1 trusting, 5 skeptical), ``literalism`` (1 flexible, 5 literal) and ``empathy`` (1 detached, 5
    empathetic) are whole numbers. ``bias_strength``, in [0, 1], is the strength of their influence on conclusions.

    Raises:
        InvalidInput: a value is out of its range.
    """

    skepticism: int = 3
    literalism: int = 3
    empathy: int = 3
    bias_strength: float = 0.5

    def __post_init__(self) -> None:
        for trait in (self.skepticism, self.literalism, self.empathy):
            if trait not in TRAIT_LEVELS:
                raise InvalidInput("skepticism, literalism and empathy must be whole numbers from 1 to 5")
        if not 0.0 <= self.bias_strength <= 1.0:
            raise InvalidInput("bias_strength must be between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The profile of a bank's agent: name, background and disposition (Hindsight, equation 22).

    ``background`` is a short text in the first person.

    Raises:
        InvalidInput: the name is blank.
    """

    name: str
    background: str = ""
    disposition: Disposition = Disposition()

    def __post_init__(self) -> None:
        require_text("Profile.background", self.background)
        require_type("Profile.disposition", self.disposition, Disposition, "a Disposition")
        if not require_text("Profile.name", self.name).strip():
            raise InvalidInput("a profile needs a name")


@dataclass(frozen=True, slots=True, kw_only=True)
class BankInfo:
    """The numbers of a bank, such as how many messages and items it has.

    ``size_bytes`` is the size of all its files. ``links_by_kind`` counts the links of each kind. ``segments`` counts
    the sealed windows over the messages and the open one. ``notes`` tell a user about limits of the search in this
    bank.
    """

    name: str
    messages: int
    sessions: int
    items: int
    segments: int
    entities: int
    links: int
    links_by_kind: dict[str, int]
    first: datetime | None
    last: datetime | None
    embedder: str
    dimension: int
    size_bytes: int
    notes: tuple[str, ...] = ()
