"""Extract facts from a chunk: triples of phrases with the times of their validity (REMem, section 3.1 and figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from recollect.answering.evidence import join_lines
from recollect.domain.items import Item, ItemKind
from recollect.domain.triples import Triple
from recollect.methods.remem.extraction_replies import ExtractedTriple, ExtractedTriples, read_fact_times
from recollect.methods.remem.gists import compute_order, find_last_message, find_sources, render_chunk_parts
from recollect.models.language import ModelRole, Prompt
from recollect.retain.chunks import Chunk
from recollect.retain.triples import occurrences_of, text_of
from recollect.text.fencing import DATA_RULE, fence_text

FACTS: Final = "remem.facts"


def check_facts(reply: ExtractedTriples, chunk: Chunk) -> None:
    """Check the message numbers in a reply against the messages that were shown.

    Raises:
        ValueError: a number belongs to no message, or a fact comes from earlier messages alone.
    """
    for number, fact in enumerate(reply.facts, start=1):
        chunk.require_numbers(fact.messages, f"fact {number}")


def make_triple_id(chunk: Chunk, n: int) -> str:
    """Return the id of a chunk's ``n``-th triple, counted from 0. The id does not depend on what the triple says."""
    return f"triple:{chunk.key}:{n}"


def make_triples(reply: ExtractedTriples, chunk: Chunk, now: datetime) -> list[Item]:
    """Return the facts of a reply as items, in its order. The reply has passed :func:`check_facts`.

    The time at which a fact was said, the paper's ``record_time``, is the time of its message. The model cannot change
    it.
    """
    return [_make_item(fact, n, chunk, now) for n, fact in enumerate(reply.facts)]


def _make_item(fact: ExtractedTriple, n: int, chunk: Chunk, now: datetime) -> Item:
    cited = chunk.get_messages(fact.messages)
    said = find_last_message(cited)
    start, end = read_fact_times(fact, said.at.tzinfo)
    triple = Triple(
        subject=join_lines(fact.subject),
        predicate=join_lines(fact.predicate),
        object=join_lines(fact.object),
        start=start,
        end=end,
    )
    text = text_of(triple)
    return Item(
        id=make_triple_id(chunk, n),
        kind=ItemKind.TRIPLE,
        text=text,
        session=chunk.session,
        speaker=cited[0].speaker,
        sources=find_sources(text, cited, chunk),
        mentioned=said.at,
        recorded=now,
        order=compute_order(cited, n),
        occurrences=occurrences_of(triple),
        triple=triple,
    )


_SYSTEM: Final = f"""You read a stretch of conversation, with the gists that were written down of it, and give what it \
tells as facts: triples of a subject, a predicate and an object, with the time at which they hold.

- subject: who or what the fact is about.
- predicate: what it does, is, has, or has to do with the object, in as few words as keep it exact ("adopted", "works \
at", "is allergic to").
- object: whom or what that concerns, or what it amounts to.

All three are short phrases, no sentences, and none may be empty. They are the handles by which facts are joined: \
always use one and the same phrase for the same person, thing or event, and give names instead of pronouns. Whoever or \
whatever has a name is called by the name alone ("Rex", not "the dog Rex", "Rex (dog)" or "Lena's dog"); what it is, \
and whose, are facts of their own. Between <known_names> and </known_names> stand names that are in use already: use \
them, as they stand there, for the same people, animals, things and places.

Name an event that several facts speak of by a few words of its own ("kitchen repair"); where such things come again, \
as trips and weddings do, with the month or the year ("Oslo trip of May 2021"). What a fact has beside its object \
(from whom, where, how much, what for) is a further fact about the same subject, or about the event.

Leave nothing out that somebody might ask for later: people and how they are related, deeds, plans, likings, \
possessions, places, numbers. Of advice, of a plan in steps, of a long list give one fact that says from whom it is \
and what it is about, and a fact of a single item only where that item matters by itself. State what is said or \
plainly follows from it, and nothing else. Where two claims contradict each other, give both.

Times are ISO dates no finer than what is known (2023, 2023-07, 2023-07-09, 2023-07-09T18:30); work out relative ones \
from the date of the message, or take them from the round brackets of a gist.
- point_in_time: when a single event happened. Where you give it, leave start_time and end_time null.
- start_time, end_time: from when and until when something went on or held. Give what is known; null is open. What has \
gone on until the message, and may go on after it, has no end_time.
All three are null where no time is told. The date of a message is kept anyway; it is not by itself the time of a fact.

messages: the numbers of the messages that the fact comes from, the one that says most first. What stands in square \
brackets on a line of its own below the words of a message describes a picture that was sent with it. Messages between \
<context> and </context> have been read before and are shown so that you understand the others: give no fact that \
comes from them alone.

{DATA_RULE}"""


def build_fact_prompt(chunk: Chunk, gists: Sequence[Item], names: Sequence[str]) -> Prompt:
    """Return the prompt for the facts of a chunk whose gists are known. ``names`` are in use in the bank."""
    parts = render_chunk_parts(chunk, names)
    if gists:
        lines = [f"[g{number}] {gist.text}" for number, gist in enumerate(gists, start=1)]
        parts.append(fence_text("gists", "\n".join(lines)))
    return Prompt(
        role=ModelRole.EXTRACT, operation=FACTS, subject=chunk.subject, system=_SYSTEM, text="\n\n".join(parts)
    )
