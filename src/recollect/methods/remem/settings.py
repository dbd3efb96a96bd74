"""REMem's constants (section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """Settings for how conversations are read for gists and facts.

    A session is read when it has been still for ``settle_s`` seconds, in chunks of at most ``chunk_tokens`` tokens. One
    job reads at most ``chunks`` chunks. Each chunk is shown with at most ``context_messages`` messages before it, of at
    most ``context_tokens`` tokens together. At most ``known_names`` names in use are shown too, and none if it is 0.

    Gists whose embeddings have a cosine of at least ``theta_syn`` are joined by a synonymy edge. Each new gist gets at
    most ``synonyms`` such edges.
    """

    settle_s: float = 60.0
    chunk_tokens: int = 2000
    chunks: int = 8
    context_messages: int = 4
    context_tokens: int = 400
    known_names: int = 40
    theta_syn: float = 0.8
    synonyms: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """The number of items that a tool shows if the call sets no limit.

    ``retrieved`` is the number for gists and for facts that are found by similarity or by an edge. ``explored`` is the
    number for facts that are asked for by their phrases.
    """

    retrieved: int = 10
    explored: int = 50

    def __post_init__(self) -> None:
        for name in ("retrieved", "explored"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactSettings:
    """Settings for how many steps the agent takes, and how it answers.

    ``recollecting`` is the number of steps for a question that needs only recollection. ``reasoning`` is the number for
    a question that needs reasoning over time. Both are at least 2, because the last step can only answer, and an answer
    rests on what was found before it.

    With ``tiser`` the model reasons over a timeline and reflects on it before it answers (Bazaga et al., 2025).
    """

    recollecting: int = 3
    reasoning: int = 5
    tools: ToolSettings = ToolSettings()
    tiser: bool = False

    def __post_init__(self) -> None:
        for name in ("recollecting", "reasoning"):
            if getattr(self, name) < 2:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 2: to search, and to answer")
