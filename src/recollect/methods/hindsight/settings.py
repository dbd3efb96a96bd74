"""The constants of extraction and observation (Hindsight, sections 4.1.2 to 4.1.5)."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.retain.link import LinkSettings
from recollect.retain.name_similarity import ResolveSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractSettings:
    """How facts are extracted.

    A session is read ``settle_s`` seconds after its last message, in chunks of at most ``chunk_tokens`` tokens, each
    after at most ``context_messages`` messages of at most ``context_tokens`` tokens together that were read before.
    ``chunks`` of them are read in one job, the rest in the next, so that a job ends before its lease. The model is
    told to expect 2 to 5 facts for every ``exchange_tokens`` tokens. ``confidence`` is that of an opinion which was
    voiced, not reasoned for.
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
    """How entities are observed.

    An entity with at least ``min_facts`` facts is observed ``debounce_s`` seconds after the last of them came, by its
    newest ``facts`` facts. Fewer than three observations will do where there are at most ``few`` facts. An observation
    names at most ``sources`` messages.
    """

    debounce_s: float = 60.0
    min_facts: int = 3
    facts: int = 60
    few: int = 5
    sources: int = 20
    links: LinkSettings = LinkSettings()
    resolve: ResolveSettings = ResolveSettings()
