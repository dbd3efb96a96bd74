"""Add the adjacent messages to a message. Between people a unit is one message, but in the paper it is an exchange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from recollect.answering.evidence import RAW_WORDS_EXPLAINED, NumberedEvidence, join_lines
from recollect.domain.messages import StoredMessage
from recollect.domain.queries import Query, Scope
from recollect.methods.recmem.units import CONTEXT_SPAN, NEIGHBOUR_CHARACTERS, cut_text
from recollect.retain.turns import render_message
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_all


async def add_neighbours(
    entries: Sequence[NumberedEvidence], reader: StoreReader, query: Query
) -> tuple[NumberedEvidence, ...]:
    """Return the entries. An entry of one message gets the messages right before and right after it.

    So a question that was found brings its answer along. A message that is an entry itself is not shown again. If the
    query has a scope, the entries stay as they are. If the query's tokens do not suffice for all, the best entries come
    first.
    """
    if query.scope != Scope():
        return tuple(entries)
    words = sorted(
        (one for one in entries if one.item.kind in RAW_WORDS_EXPLAINED), key=lambda one: -one.evidence.score
    )
    shown = {source for entry in words for source in entry.item.sources}
    alone = [entry for entry in words if len(entry.item.sources) == 1]
    near = await reader.adjacent_messages(entry.item.sources[0] for entry in alone) if alone else []
    room = inf if query.max_tokens is None else query.max_tokens - sum(one.evidence.tokens for one in entries)
    told: dict[int, NumberedEvidence] = {}
    for entry in alone:
        own = next((one for one in near if one.id == entry.item.sources[0]), None)
        if own is None:
            continue
        lines = [_render_neighbour(own, one) for one in _load_neighbours(own, near) if one.id not in shown]
        cost = sum(count_all(lines))
        if lines and cost <= room:
            room -= cost
            told[entry.number] = replace(entry, item=replace(entry.item, text="\n".join([entry.item.text, *lines])))
    return tuple(told.get(entry.number, entry) for entry in entries)


def _load_neighbours(message: StoredMessage, near: Iterable[StoredMessage]) -> list[StoredMessage]:
    """Return the messages right before and right after a message in its session, if they are within a day of it."""
    beside = [one for one in near if one.session == message.session and abs(one.position - message.position) == 1]
    return sorted((one for one in beside if abs(one.at - message.at) <= CONTEXT_SPAN), key=lambda one: one.position)


def _render_neighbour(message: StoredMessage, one: StoredMessage) -> str:
    where = "right before" if one.position < message.position else "right after"
    return f"({where}, {join_lines(one.speaker)}: {cut_text(join_lines(render_message(one)), NEIGHBOUR_CHARACTERS)})"
