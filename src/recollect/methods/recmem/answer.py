"""Answer from three tiers in one pass (RecMem, section 3.5 and appendix F)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Final

from recollect.answering.answers import CitedReply, abstain_without_evidence, generate_answer, render_request
from recollect.answering.evidence import GatheredEvidence, SectionLayout, gather_evidence
from recollect.domain.items import Item, ItemKind
from recollect.domain.queries import Query, Tier
from recollect.errors import InvalidInput
from recollect.methods.dependencies import Dependencies
from recollect.methods.recmem.neighbours import add_neighbours
from recollect.models.language import ModelRole, Prompt
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader
from recollect.text.fencing import DATA_RULE

OPERATION: Final = "recmem.answer"


class TierSection(StrEnum):
    """The section of the prompt for an entry: one section for each tier. The subconscious tier has raw words."""

    EPISODES = "episodic_memories"
    FACTS = "semantic_memories"
    WORDS = "raw_words"


def choose_section(item: Item) -> TierSection:
    """Return the section of an item. Items that other methods derived are with the facts."""
    if item.kind is ItemKind.EPISODE:
        return TierSection.EPISODES
    return TierSection.WORDS if item.kind in (ItemKind.TURN, ItemKind.SEGMENT) else TierSection.FACTS


SECTIONS: Final = SectionLayout(names=tuple(TierSection), section_of=choose_section)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSettings:
    """The limits of each tier (sections 3.5 and 3.6): ``k_sub`` turns, ``k_epi`` episodes, twice as many facts.

    Episodes and facts take at most their shares of the query's tokens. Raw words take the rest. If a bank has no
    episode yet, raw words have the whole budget and the places of all tiers.

    Raises:
        InvalidInput: a number is out of its range.
    """

    k_sub: int = 10
    k_epi: int = 5
    share_epi: float = 0.3
    share_sem: float = 0.2

    def __post_init__(self) -> None:
        if min(self.k_sub, self.k_epi) < 0 or self.k_sub + self.k_epi == 0:
            raise InvalidInput("k_sub and k_epi must be 0 or more, and at least one of them above 0")
        if min(self.share_epi, self.share_sem) < 0 or self.share_epi + self.share_sem > 1:
            raise InvalidInput("share_epi and share_sem must be 0 or more, and their sum must be at most 1")

    @property
    def k_sem(self) -> int:
        """Return the number of facts that are shown. Section 3.5 ties it to the number of episodes."""
        return 2 * self.k_epi

    def tiers(self, *, consolidated: bool) -> tuple[Tier, ...]:
        """Return the tiers to recall. ``consolidated`` is true if the bank has episodes."""
        if not consolidated:
            return (Tier(kinds=(ItemKind.TURN,), limit=self.k_sub + self.k_epi + self.k_sem, share=1.0),)
        words = 1.0 - self.share_epi - self.share_sem
        return (
            Tier(kinds=(ItemKind.EPISODE,), limit=self.k_epi, share=self.share_epi),
            Tier(kinds=(ItemKind.SEMANTIC,), limit=self.k_sem, share=self.share_sem),
            Tier(kinds=(ItemKind.TURN,), limit=self.k_sub, share=words),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TierReply(CitedReply):
    """An answer and its citations: the numbers of the entries behind it. Only an answer that abstains has none."""

    __pydantic_config__: ClassVar = {"title": "TierAnswered"}  # its name in requests to a model, recorded ones too


class TierAnswerer:
    """Answers from episodes, facts and raw words, with one call. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: TierSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or TierSettings()

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Recall from each tier and answer from the results. If nothing is found, no model is called."""
        began = time.perf_counter()
        tiers = self._limit_tiers(query, consolidated=await _has_episodes(reader, query.scope.as_of))
        gathered = await gather_evidence(query, reader, self._parts.retriever, tiers=tiers, sections=SECTIONS)
        listener(gathered.describe())
        if not gathered.entries:
            return Response(answer=abstain_without_evidence(gathered, began))
        gathered = replace(gathered, entries=await add_neighbours(gathered.entries, reader, query))
        prompt = build_answer_prompt(query, gathered)
        answer = await generate_answer(gathered, prompt, TierReply, self._parts.model, listener=listener, began=began)
        return Response(answer=answer)

    def _limit_tiers(self, query: Query, *, consolidated: bool) -> tuple[Tier, ...]:
        """Return the tiers, each with at most as many items as the query asks for."""
        tiers = self._settings.tiers(consolidated=consolidated)
        return tuple(replace(tier, limit=min(tier.limit, query.limit)) for tier in tiers)


async def _has_episodes(reader: StoreReader, moment: datetime | None) -> bool:
    """Return true if the bank has episodes. With a moment, return true if it had any by then."""
    if moment is None:
        return bool(await reader.items_of([ItemKind.EPISODE], limit=1))
    return any(item.recorded <= moment for item in await reader.items_of([ItemKind.EPISODE], superseded=True))


_SYSTEM: Final = f"""You answer questions from a memory of conversations. It holds three kinds of entries, numbered \
throughout:
- episodic_memories: how one matter went on over time, told from several exchanges.
- semantic_memories: single facts, with when they hold or happened where that is known.
- raw_words: what was said, word for word, with who said it and when; what was said right before and after it stands \
in brackets, where it is no entry of its own.
A section without entries is left out; in each, what came later stands later. The same thing may stand in several \
sections: that is one piece of evidence, not several. Details are surest in raw words.

How to answer:
- Rest on the entries for everything about these people and events. Common knowledge may complete an answer whose \
subject the entries name, and nothing else.
- Where entries contradict each other, the most recent one holds, unless the past is asked for.
- When something was said is not when it happened. Work out times from the dates of the entries: "last week" is the \
week before it was said. Give a date or a span, not a relative word.
- Where advice or a preference is asked for, go by what these people like, have done and cannot do, before you fall \
back on what would suit anybody.
- reasoning: in one to three sentences, which entries decide and how.
- answer: as short as the question allows: a name, a date, a phrase where that will do; no numbers of entries.
- citations: the numbers of the entries that the answer rests on, the most important first.
- abstained: true only where the entries do not hold the answer; say then in one sentence what is missing. Where they \
hold a part of it, give that part and do not abstain.

The question stands between <question> and </question>. {DATA_RULE}"""


def build_answer_prompt(query: Query, gathered: GatheredEvidence) -> Prompt:
    """Return the prompt with the question and the three tiers."""
    return Prompt(
        role=ModelRole.ANSWER,
        operation=OPERATION,
        subject=query.text,
        system=_SYSTEM,
        text=render_request(query, gathered),
    )
