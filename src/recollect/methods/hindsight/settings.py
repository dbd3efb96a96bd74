"""The constants of extraction and observation (Hindsight, sections 4.1.2 to 4.1.5)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractSettings:
    """The settings of fact extraction.

    A session is read ``settle_s`` seconds after its last message. It is read in chunks of at most ``chunk_tokens``
    tokens. Before each chunk stand at most ``context_messages`` earlier messages of at most ``context_tokens`` tokens
    together. One job reads ``chunks`` chunks and the next job the rest, so that a job ends before its lease. The model
    is told to expect 2 to 5 facts for every ``exchange_tokens`` tokens. ``confidence`` is that of an opinion that
    somebody stated without reasons.
    """

    settle_s: float = 20.0
    chunk_tokens: int = 2000
    context_messages: int = 4
    context_tokens: int = 600
    chunks: int = 8
    exchange_tokens: int = 700
    confidence: float = 0.6
    links: LinkSettings = LinkSettings()
    resolve: ResolveSettings = ResolveSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveSettings:
    """The settings of observation.

    An entity with at least ``min_facts`` facts is observed ``debounce_s`` seconds after its last new fact, from its
    newest ``facts`` facts. Fewer than three observations are enough if there are at most ``few`` facts. An observation
    names at most ``sources`` messages.
    """

    debounce_s: float = 60.0
    min_facts: int = 3
    facts: int = 60
    few: int = 5
    sources: int = 20
    links: LinkSettings = LinkSettings()
    resolve: ResolveSettings = ResolveSettings()
