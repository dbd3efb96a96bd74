"""Extract gists from a chunk: what the conversation tells, one event at a time (REMem, section 3.1 and figure 3)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Final

from recollect.answering.evidence import join_lines
from recollect.answering.reading import render_chunk
from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.domain.messages import StoredMessage
from recollect.methods.remem.extraction_replies import ExtractedGist, ExtractedGists
from recollect.models.language import ModelRole, Prompt
from recollect.retain.chunks import Chunk, find_quoted
from recollect.retain.extract import MOST_NAMES
from recollect.retain.resolve import NameOccurrence
from recollect.retain.triples import PLACES
from recollect.text.fencing import DATA_RULE, fence_text
from recollect.text.names import find_names
from recollect.text.time_expressions import describe_interval
from recollect.text.time_expressions.iso import parse_iso_span_checked
from recollect.text.time_expressions.words import ENGLISH_MONTHS

GISTS: Final = "remem.gists"

_STAMP: Final = re.compile(r"\s*(?:\[[^\[\]\d]*\d[^\[\]]*\]\s*)+")


def check_gists(reply: ExtractedGists, chunk: Chunk) -> None:
    """Check a reply: its message numbers against the messages that were shown, and that no gist is empty.

    Raises:
        ValueError: a number belongs to no message, a gist comes from earlier messages alone, or a gist has no text
            except its time.
    """
    for number, gist in enumerate(reply.gists, start=1):
        chunk.require_numbers(gist.messages, f"gist {number}")
        if not any(map(str.isalnum, _strip_stamp(gist.text))):
            raise ValueError(f"gist {number} is empty but for its time")


def make_gist_id(chunk: Chunk, n: int) -> str:
    """Return the id of a chunk's ``n``-th gist, counted from 0. The id does not depend on what the gist says."""
    return f"gist:{chunk.key}:{n}"


def make_gists(reply: ExtractedGists, chunk: Chunk, now: datetime) -> list[Item]:
    """Return the gists of a reply as items, in its order. The reply has passed :func:`check_gists`."""
    return [_make_gist(gist, n, chunk, now) for n, gist in enumerate(reply.gists)]


def _make_gist(gist: ExtractedGist, n: int, chunk: Chunk, now: datetime) -> Item:
    cited = chunk.get_messages(gist.messages)
    said = find_last_message(cited)
    words = _strip_stamp(gist.text)
    span = parse_iso_span_checked(gist.start, gist.end, said.at.tzinfo)
    return Item(
        id=make_gist_id(chunk, n),
        kind=ItemKind.GIST,
        text=stamp_text(words, said.at),
        session=chunk.session,
        speaker=cited[0].speaker,
        sources=find_sources(words, cited, chunk),
        mentioned=said.at,
        recorded=now,
        order=compute_order(cited, n),
        occurrences=() if span is None else (Occurrence(words=describe_interval(span), interval=span),),
    )


def stamp_text(words: str, at: datetime) -> str:
    """Return the stored text of a gist. It begins with the time of its message: "[20 January 2025, 2:28 pm] ..."."""
    hour = f"{at.hour % 12 or 12}:{at.minute:02} {'pm' if at.hour >= 12 else 'am'}"
    return f"[{at.day} {ENGLISH_MONTHS[at.month - 1]} {at.year}, {hour}] {words}"


def find_last_message(cited: Sequence[StoredMessage]) -> StoredMessage:
    """Return the last of the cited messages: the moment at which everything cited had been said."""
    return max(cited, key=lambda message: message.position)


def compute_order(cited: Sequence[StoredMessage], n: int) -> int:
    return min(message.position for message in cited) * PLACES + n


def find_sources(words: str, cited: Sequence[StoredMessage], chunk: Chunk) -> tuple[str, ...]:
    """Return the ids of the cited messages, and of messages that the text repeats without citing them."""
    return tuple(message.id for message in (*cited, *find_quoted(words, cited, chunk.all_messages)))


def _strip_stamp(text: str) -> str:
    """Return the text of a gist without any time that the model wrote before it.

    The stored gist gets the message's time there.
    """
    found = _STAMP.match(text)
    return join_lines(text[found.end() :] if found else text)


def find_name_occurrences(
    gists: Sequence[Item], people: frozenset[str], known: Container[str]
) -> Iterator[NameOccurrence]:
    """Yield the names in gists in the form that entity resolution takes.

    ``people`` are the speakers, ``known`` are names met before.
    """
    for gist in gists:
        words = gist.text.partition("] ")[2]  # the month in its time could look like a name
        names = {name.text: name.kind for name in find_names(words, people, known)}
        kept = dict(list(names.items())[:MOST_NAMES])
        for surface, kind in kept.items():
            together = tuple(other for other in kept if other != surface)
            yield NameOccurrence(item=gist.id, surface=surface, kind=kind, at=gist.mentioned, other_names=together)


def render_chunk_parts(chunk: Chunk, names: Sequence[str]) -> list[str]:
    """Return the parts of a prompt that show the names in use and the messages of the chunk."""
    known = [fence_text("known_names", "\n".join(map(join_lines, names)))] if names else []
    return [*known, *render_chunk(chunk)]


_SYSTEM: Final = f"""You read a stretch of conversation and write down its gists, from which it will be remembered: \
every single fact, event, plan and claim in it, each in a plain English sentence of its own.

A gist is atomic. Where a sentence of the conversation tells several things, make a gist of each of them.

A gist stands by itself. Somebody who reads it alone must know who did what: give names instead of "I", "you" or \
"she" (the name of a speaker stands before the words; "(agent)" marks the agent whose memory this is), and say what \
"it" or "there" means; of "the dog" or "the wedding", whose it is. Keep the whole situation as far as it is told or \
plainly follows from what is said: who took part, what was done, to what, where, with which intention, how many and \
how much, and why. Keep names, titles and numbers as they are. Never add anything that the conversation does not bear \
out.

Between <known_names> and </known_names> stand names that are in use already: give the same people, animals, things \
and places the same names, as they stand there. Where one of them is meant without being named, and there is no doubt \
about it, name it.

Times. Work out every relative time from the date of the message that it stands in, and set the date, or the stretch \
from the first day to the last, in round brackets right after the words: "last Friday (5 May 2023)", "the week after \
next (22 May 2023 to 28 May 2023)", "in two years (2025)". Be no more exact than the words are. Do not write the date \
of the message itself before a gist; that is added.

start and end: when what the gist tells happened, or is to happen, as ISO dates no finer than what is known (2023, \
2023-07, 2023-07-09, 2023-07-09T18:30). For a single day, month or year give start alone; for a stretch of time both, \
and only the end that is known. Give null where no time is told; the date of a message is not by itself the date of \
what it tells.

messages: the numbers of the messages that the gist comes from, the one that says most first. Messages between \
<context> and </context> have been read before and are shown so that you understand the others: write down nothing \
that comes from them alone.

Where later words contradict earlier ones, keep a gist of each. What stands in square brackets on a line of its own \
below the words of a message describes a picture that was sent with it. Leave out greetings and phrases that tell \
nothing; a joke or a question is a gist only where it tells something about somebody. Where nothing is told, there is \
no gist.

{DATA_RULE}"""


def build_gist_prompt(chunk: Chunk, names: Sequence[str]) -> Prompt:
    """Return the prompt for the gists of a chunk, the first of its two prompts. ``names`` are in use in the bank."""
    return Prompt(
        role=ModelRole.EXTRACT,
        operation=GISTS,
        subject=chunk.subject,
        system=_SYSTEM,
        text="\n\n".join(render_chunk_parts(chunk, names)),
    )
