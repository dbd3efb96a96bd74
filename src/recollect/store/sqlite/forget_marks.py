"""Mark what a selection means: the messages and given facts to be forgotten, and the messages that only might be meant.

The marks are rows of temporary tables, which the queries of a forgetting join.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from recollect.domain.time import Interval, to_micros
from recollect.store.protocol import ForgetSelection
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.quote_rows import (
    QuotingRows,
    decode,
    find_quoting_items,
    find_quoting_rows,
    read_captions,
    read_quotes,
    remove_common_phrases,
)
from recollect.text.name_match import NameMatch, NameMatcher, fold_text, make_name_key

_FOREVER: Final = int(np.iinfo(np.int64).max)
_CLEAR: Final = ("doomed_clear", "doomed_facts_clear", "doomed_items_clear", "possible_clear")


def mark_selection(connection: sqlite3.Connection, selection: ForgetSelection) -> QuotingRows:
    """Mark messages, given facts, and items that quote them. Return the other rows that quote them."""
    for name in _CLEAR:
        connection.execute(get_query(name))
    connection.executemany(get_query("doomed_by_message"), [(one,) for one in selection.messages])
    _mark_sessions(connection, selection.sessions)
    _mark_speakers(connection, selection.speakers)
    names = _mark_entities(connection, selection.entities) if selection.entities else frozenset()
    if selection.during is not None:
        connection.execute(get_query("doomed_by_time"), _make_bounds(selection.during))
        connection.execute(get_query("doomed_facts_by_time"), _make_bounds(selection.during))
    connection.executemany(get_query("doomed_fact_by_id"), [(one,) for one in selection.facts])
    doomed = list_doomed_items(connection)
    quotes = remove_common_phrases(connection, read_quotes(connection, doomed, names), doomed)
    items = find_quoting_items(connection, quotes, doomed)
    connection.executemany(get_query("doomed_item"), [(seq,) for seq in items])
    return find_quoting_rows(connection, quotes, list_doomed_items(connection))


def list_doomed_items(connection: sqlite3.Connection) -> str:
    """Return the numbers of the items that came from marked messages, facts or items, as a JSON list.

    Items that came from such items are included.
    """
    return json.dumps([item for (item,) in connection.execute(get_query("doomed_items"))])


def list_possible(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the ids of the messages that stay although they might be meant."""
    return tuple(id_ for (id_,) in connection.execute(get_query("possible_messages")))


def _mark_sessions(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    """Mark sessions by their exact names. Other spellings of these names might be meant."""
    connection.executemany(get_query("doomed_by_session"), [(one,) for one in names])
    wanted = set(map(fold_text, names))
    for (name,) in connection.execute(get_query("session_names")).fetchall() if names else ():
        if fold_text(decode(name)) in wanted:
            connection.execute(get_query("possible_by_session"), (name,))


def _mark_speakers(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    """Mark speakers, whatever the case and the Unicode form. A name with other accents or signs might be meant."""
    wanted, alike = set(map(fold_text, names)), set(map(make_name_key, names)) - {""}
    for (name,) in connection.execute(get_query("speakers_of_messages")).fetchall() if names else ():
        if fold_text(decode(name)) in wanted:
            connection.execute(get_query("doomed_by_speaker"), (name,))
        elif make_name_key(decode(name)) in alike:
            connection.execute(get_query("possible_by_speaker"), (name,))


def _mark_entities(connection: sqlite3.Connection, names: Sequence[str]) -> frozenset[str]:
    """Mark what mentions entities, and every message that contains one of their names. Return all their names.

    Names are read only from the opening words of a turn, but a name in an assistant's answer must be removed as well.
    """
    ids, spellings = _find_entities(connection, names)
    entities = {"entities": json.dumps(sorted(ids))}
    connection.execute(get_query("doomed_by_entity"), entities)
    matcher = NameMatcher(spellings)
    certain, possible = list[tuple[int]](), list[tuple[int]]()
    for seq, text, captions in connection.execute(get_query("message_texts")):
        match = max(map(matcher.match, (decode(text), *read_captions(captions))))
        if match is not NameMatch.NONE:
            (certain if match is NameMatch.CERTAIN else possible).append((seq,))
    connection.executemany(get_query("doomed_by_number"), certain)
    connection.executemany(get_query("possible_by_number"), possible)
    for (speaker,) in connection.execute(get_query("speakers_of_messages")).fetchall():
        if matcher.match(decode(speaker)) is NameMatch.CERTAIN:
            connection.execute(get_query("possible_by_speaker"), (speaker,))
    connection.execute(get_query("doomed_by_episode"), entities)
    connection.execute(get_query("doomed_facts_by_entity"), entities)
    facts = connection.execute(get_query("given_fact_texts")).fetchall()
    named = [(seq,) for seq, text in facts if matcher.match(decode(text)) is NameMatch.CERTAIN]
    connection.executemany(get_query("doomed_fact_by_number"), named)
    return frozenset(spellings)


def _find_entities(connection: sqlite3.Connection, names: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the ids of the entities that have one of these names or ids, and all spellings of their names.

    Names that the bank has merged into an entity are among its spellings.
    """
    rows = [(decode(id_), decode(name)) for id_, name in connection.execute(get_query("spellings"))]
    wanted, keys = set(names), _list_keys(names)
    ids = {id_ for id_, name in rows if id_ in wanted or not keys.isdisjoint(_list_keys([name]))}
    known = {id_ for id_, _ in rows}
    return ids, {name for id_, name in rows if id_ in ids} | (wanted - known)


def _list_keys(names: Iterable[str]) -> set[str]:
    return {make_name_key(name) or fold_text(name) for name in names}


def _make_bounds(during: Interval) -> dict[str, int]:
    return {
        "start": -_FOREVER if during.start is None else to_micros(during.start),
        "end": _FOREVER if during.end is None else to_micros(during.end),
    }
