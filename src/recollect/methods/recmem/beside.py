"""What was said beside a message: between people one message is a unit, where the paper's is an exchange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from recollect.answering.evidence import WORDS, Entry, one_line
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Query, Scope
from recollect.methods.recmem.units import BESIDE_CHARACTERS, LATELY, cut_off
from recollect.retain.turns import spoken
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_all


async def in_conversation(entries: Sequence[Entry], reader: StoreReader, query: Query) -> tuple[Entry, ...]:
    """Entries, where one is a message alone with what was said right before and after it: so a question that was found
    brings its answer along.

    What is an entry itself is not told twice. A query that narrows what may come back keeps to what was found; the best
    entries come first where the query's tokens do not suffice for all.
    """
    if query.scope != Scope():
        return tuple(entries)
    words = sorted((one for one in entries if one.item.kind in WORDS), key=lambda one: -one.evidence.score)
    shown = {source for entry in words for source in entry.item.sources}
    alone = [entry for entry in words if len(entry.item.sources) == 1]
    near = await reader.adjacent_messages(entry.item.sources[0] for entry in alone) if alone else []
    room = inf if query.max_tokens is None else query.max_tokens - sum(one.evidence.tokens for one in entries)
    told: dict[int, Entry] = {}
    for entry in alone:
        own = next((one for one in near if one.id == entry.item.sources[0]), None)
        if own is None:
            continue
        lines = [_line(own, one) for one in _beside(own, near) if one.id not in shown]
        cost = sum(count_all(lines))
        if lines and cost <= room:
            room -= cost
            told[entry.number] = replace(entry, item=replace(entry.item, text="\n".join([entry.item.text, *lines])))
    return tuple(told.get(entry.number, entry) for entry in entries)


def _beside(message: StoredMessage, near: Iterable[StoredMessage]) -> list[StoredMessage]:
    """Return the messages right before and right after one in its session, said within a day of it."""
    beside = [one for one in near if one.session == message.session and abs(one.position - message.position) == 1]
    return sorted((one for one in beside if abs(one.at - message.at) <= LATELY), key=lambda one: one.position)


def _line(message: StoredMessage, one: StoredMessage) -> str:
    where = "right before" if one.position < message.position else "right after"
    return f"({where}, {one_line(one.speaker)}: {cut_off(one_line(spoken(one)), BESIDE_CHARACTERS)})"
