"""REMem's constants (section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """How conversations are read for gists and facts.

    A session is read when it has been still for ``settle_s`` seconds, in chunks of at most ``chunk_tokens``, at most
    ``chunks`` of them a job; at most ``context_messages`` of at most ``context_tokens`` together that came before are
    shown with each, and at most ``known_names`` names that are in use, none where it is 0. Gists whose embeddings have
    a cosine of at least ``theta_syn`` are joined by a synonymy edge, at most ``synonyms`` of them for each new one.
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
    """How much a tool gives where it is not told.

    ``retrieved`` of what is found by likeness or joined by an edge: gists and facts each. ``explored`` of the facts
    that are asked for by their phrases.
    """

    retrieved: int = 10
    explored: int = 50

    def __post_init__(self) -> None:
        for name in ("retrieved", "explored"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactSettings:
    """How far the agent goes: so many steps to recollect, and so many where a question needs reasoning over time.

    There are at least two: the last one can only answer, and an answer rests on what was found before it.
    ``tiser`` has the answer reasoned out over a timeline that is reflected on (Bazaga et al., 2025).
    """

    recollecting: int = 3
    reasoning: int = 5
    tools: ToolSettings = ToolSettings()
    tiser: bool = False

    def __post_init__(self) -> None:
        for name in ("recollecting", "reasoning"):
            if getattr(self, name) < 2:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 2: to look, and to answer")
