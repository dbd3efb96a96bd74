"""Gather evidence from the four networks of Hindsight and show each apart, so that facts and beliefs are not mixed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from recollect.answering.evidence import RAW_WORDS_EXPLAINED, GatheredEvidence, SectionLayout
from recollect.answering.evidence import gather_evidence as gather_tiers
from recollect.domain.items import Item, ItemKind, Network
from recollect.domain.queries import Query, Tier
from recollect.ports import Retriever
from recollect.store.protocol import StoreReader


class NetworkSection(StrEnum):
    """The sections of a prompt: the four networks (section 3.1), notes of other methods, and raw messages."""

    WORLD = "world_facts"
    EXPERIENCE = "experience_facts"
    OBSERVATIONS = "observations"
    NOTES = "notes"
    OPINIONS = "opinions"
    WORDS = "raw_words"


SECTIONS_EXPLAINED: Final = """What memory holds stands in these sections; cite an entry by its number:
- world_facts: what is known of people and things.
- experience_facts: what is known of what you did yourself.
- observations: neutral summaries of what is known of somebody or something.
- notes: other summaries of what was said.
- opinions: what you believe, with how firmly (1 is certain). A belief is no fact.
- raw_words: what somebody said, word for word; who said it may be wrong.
A section without entries is left out. An entry says which time it tells of, past or planned, and when it was said, as \
far as that is known. Where two entries contradict each other, the one that was said later holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenShares:
    """The share of the tokens that each network may use, 0 to 1."""

    facts: float
    observations: float
    opinions: float
    turns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """Limits on each network in a prompt, so that no network displaces another. Facts may reach the limit of the query.

    A summary or a belief is as similar to the question as its facts, and says less. ``shares`` are shares of the tokens
    of the query. They add up to 1.
    """

    observations: int = 5
    opinions: int = 3
    turns: int = 8
    shares: TokenShares = field(
        default_factory=lambda: TokenShares(facts=0.6, observations=0.13, opinions=0.07, turns=0.2)
    )


async def gather_networks(
    query: Query, reader: StoreReader, retriever: Retriever, settings: EvidenceSettings
) -> GatheredEvidence:
    """Recall evidence from the four networks, and a few raw messages.

    If the query names kinds, only these are recalled. If the bank has no facts yet, every kind is recalled.

    Raises:
        RecallFailed: no evidence could be searched.
    """
    facts = await reader.items_of([ItemKind.FACT], limit=1)
    tiers = _make_tiers(query, settings) if facts else ()
    return await gather_tiers(query, reader, retriever, tiers=tiers, sections=SECTIONS)


def _make_tiers(query: Query, settings: EvidenceSettings) -> tuple[Tier, ...]:
    """Return one tier for each network and one for raw messages."""
    shares = settings.shares
    return (
        Tier(kinds=(ItemKind.FACT,), limit=query.limit, share=shares.facts),
        Tier(kinds=(ItemKind.OBSERVATION,), limit=settings.observations, share=shares.observations),
        Tier(kinds=(ItemKind.OPINION,), limit=settings.opinions, share=shares.opinions),
        Tier(kinds=(ItemKind.TURN,), limit=settings.turns, share=shares.turns),
    )


def choose_section(item: Item) -> NetworkSection:
    """Return the section of an item."""
    if item.kind in RAW_WORDS_EXPLAINED:
        return NetworkSection.WORDS
    match item.kind:
        case ItemKind.FACT:
            return NetworkSection.EXPERIENCE if item.network is Network.EXPERIENCE else NetworkSection.WORLD
        case ItemKind.OBSERVATION:
            return NetworkSection.OBSERVATIONS
        case ItemKind.OPINION:
            return NetworkSection.OPINIONS
        case _:
            return NetworkSection.NOTES


SECTIONS: Final = SectionLayout(names=tuple(NetworkSection), section_of=choose_section)
