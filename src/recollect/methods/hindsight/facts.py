"""Turn a model's reply into items and causal links (Hindsight, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.domain.entities import EntityKind
from recollect.domain.items import Item, ItemKind, Network, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import StoredMessage
from recollect.domain.opinions import Assessment
from recollect.domain.time import Interval
from recollect.methods.hindsight.opinions import is_in_first_person, make_opinion_id
from recollect.methods.hindsight.replies import MOST_FACTS, ExtractedFact, ExtractedFacts
from recollect.retain.chunks import Chunk, find_quoted
from recollect.retain.embed import text_to_embed
from recollect.retain.index_items import ItemDraft
from recollect.text.terms import STOP_WORDS, split_words
from recollect.text.time_expressions import describe_interval
from recollect.text.time_expressions.iso import parse_iso_span_checked

CAUSAL_WEIGHT: Final = 1.0  # section 4.1.4: whatever strength the model saw in it

_STOPS: Final = (".", "!", "?", "…")
_FACTS_BETWEEN: Final = 1000  # places in a session's order between two messages: more than a reply has facts


def make_fact_id(chunk: Chunk, n: int) -> str:
    """Return the id of the ``n``-th fact of a chunk, from 0. It does not depend on the text of the fact."""
    return f"fact:{chunk.key}:{n}"


def check_facts(reply: ExtractedFacts, chunk: Chunk) -> None:
    """Check a reply against the messages in the prompt.

    Raises:
        ValueError: a number belongs to no message, a fact comes only from earlier messages, or a fact is wrongly called
            the agent's own.
    """
    voices = [chunk.is_by_agent(message) for message in chunk.all_messages]
    for number, fact in enumerate(reply.facts, start=1):
        chunk.require_numbers(fact.messages, f"fact {number}")
        if fact.type != "world" and not any(voices):
            raise ValueError(f"fact {number} is of type {fact.type}, but no message is the agent's: it is world")
        if fact.type == "opinion":
            _check_opinion(number, fact, voices)


def _check_opinion(number: int, fact: ExtractedFact, voices: Sequence[bool]) -> None:
    if not any(voices[message - 1] for message in fact.messages):
        raise ValueError(f"fact {number} is an opinion, but none of its messages is the agent's: it is world")
    if not is_in_first_person(fact.what):
        raise ValueError(f"fact {number} is an opinion; it must begin in the first person, as in 'I think'")


def join_dimensions(fact: ExtractedFact) -> str:
    """Return the dimensions of a fact as one text: what happened, when and where, then who and why.

    A dimension that adds nothing is left out.
    """
    text = fact.what.strip()
    aside = [part.strip(" .;") for part in (fact.when, fact.where) if not _has_words(text, part)]
    if aside:
        text = f"{text.rstrip('.')} ({'; '.join(aside)})"
    text = _end_sentence(text)
    for part in (fact.who, fact.why):
        if not _has_words(text, part):
            text = f"{text} {_end_sentence(part.strip()[0].upper() + part.strip()[1:])}"
    return text


def _end_sentence(text: str) -> str:
    return text if text.rstrip("\"'”’)")[-1:] in _STOPS else f"{text}."


def _has_words(text: str, part: str) -> bool:
    """Return true if a text contains the words of a part in order. Small words do not count."""
    said, wanted = (" ".join(word for word in split_words(one) if word not in STOP_WORDS) for one in (text, part))
    return f" {wanted} " in f" {said} " or not wanted


def make_drafts(reply: ExtractedFacts, chunk: Chunk, *, confidence: float, now: datetime) -> list[ItemDraft]:
    """Return the items of a reply in its order. The reply has passed :func:`check_facts`."""
    return [_make_draft(fact, n, chunk, confidence, now) for n, fact in enumerate(reply.facts)]


def _make_draft(fact: ExtractedFact, n: int, chunk: Chunk, confidence: float, now: datetime) -> ItemDraft:
    sources = chunk.get_messages(fact.messages)
    span = parse_iso_span_checked(fact.start, fact.end, sources[0].at.tzinfo)
    text = join_dimensions(fact)
    item = Item(
        id=make_fact_id(chunk, n),
        kind=ItemKind.FACT,
        text=text,
        session=chunk.session,
        speaker=sources[0].speaker,
        sources=tuple(message.id for message in (*sources, *find_quoted(text, sources, chunk.all_messages))),
        mentioned=max(sources, key=_message_order).at,
        recorded=now,
        order=min(map(_message_order, sources)) * _FACTS_BETWEEN + n,
        occurrences=() if span is None else (_make_occurrence(fact, span),),
        network=Network(fact.type) if fact.type != "opinion" else None,
    )
    if fact.type == "opinion":
        item = _make_first_step(item, fact.what, chunk.agent, confidence)
    names = tuple((entity.name.strip(), EntityKind(entity.kind)) for entity in fact.entities)
    return ItemDraft(item=item, embedded=text_to_embed(item), names=names)


def _make_occurrence(fact: ExtractedFact, span: Interval) -> Occurrence:
    return Occurrence(words=fact.when.strip() or describe_interval(span), interval=span)


def _make_first_step(item: Item, statement: str, agent: str, confidence: float) -> Item:
    """Return the first step of an opinion (:mod:`recollect.methods.hindsight.opinions`)."""
    stem = make_opinion_id(statement)
    return replace(
        item,
        id=f"{stem}:0:{Assessment.FORMED.value}",
        kind=ItemKind.OPINION,
        session=stem,
        speaker=agent,
        order=0,
        confidence=confidence,
    )


def _message_order(message: StoredMessage) -> int:
    return message.position


def select_new_drafts(drafts: Sequence[ItemDraft], kept: Iterable[Item]) -> list[ItemDraft]:
    """Return the drafts that change something, compared with the items that the bank keeps under the same ids.

    A fact that is read again replaces the older one and keeps its recorded time. An opinion that the bank already holds
    has its own history. Stating it again, in this reply or another one, adds nothing to it.
    """
    before = {item.id: item for item in kept}
    new: dict[str, ItemDraft] = {}
    for draft in drafts:
        old = before.get(draft.item.id)
        if old is None:
            new.setdefault(draft.item.id, draft)
        elif draft.item.kind is ItemKind.FACT:
            new[draft.item.id] = replace(draft, item=replace(draft.item, recorded=old.recorded))
    return list(new.values())


def make_causal_links(reply: ExtractedFacts, drafts: Sequence[ItemDraft]) -> list[Link]:
    """Return the causal relations between the facts of a reply, each once. The label is the kind of relation (section
    4.1.4).
    """
    links = [
        Link(
            source=drafts[at].item.id,
            target=drafts[relation.target - 1].item.id,
            kind=LinkKind.CAUSAL,
            weight=CAUSAL_WEIGHT,
            label=relation.relation,
        )
        for at, fact in enumerate(reply.facts)
        for relation in fact.relations
    ]
    return [link for link in dict.fromkeys(links) if link.source != link.target]


def list_leftover_ids(chunk: Chunk, drafts: Sequence[ItemDraft]) -> list[str]:
    """Return the ids that facts of an earlier reading of the chunk may have and that no fact of this reading has."""
    taken = {draft.item.id for draft in drafts}
    return [id_ for n in range(MOST_FACTS) if (id_ := make_fact_id(chunk, n)) not in taken]
