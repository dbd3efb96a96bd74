"""Remove messages with everything derived from them, and check whether any of their words are left in the files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from recollect.domain.changes import Changeset
from recollect.domain.items import ItemKind
from recollect.domain.time import Interval, to_micros
from recollect.errors import StaleWrite
from recollect.store.forget_plan import ForgetPlan
from recollect.store.protocol import ForgetSelection
from recollect.store.sqlite.database import Database, read_state
from recollect.store.sqlite.dump import read_indexed_items
from recollect.store.sqlite.feed import loaded_items
from recollect.store.sqlite.jobs import cut_jobs
from recollect.store.sqlite.leak_search import find_pieces, split_pieces
from recollect.store.sqlite.named_queries import get_query, quote_phrase
from recollect.store.sqlite.rows import read_message
from recollect.store.sqlite.segments import find_split_segments
from recollect.store.sqlite.write import find_numbers, write_changes

_FOREVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedRows:
    """The result of a removal. ``texts`` are the words to look for in the files."""

    messages: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    sessions: int = 0
    items: int = 0
    links: int = 0
    mentions: int = 0
    entities: int = 0
    jobs: int = 0


def plan_forget(connection: sqlite3.Connection, selection: ForgetSelection) -> ForgetPlan:
    """Return the plan of a forgetting: everything that would lose only a part of its messages or sources."""
    _mark(connection, selection)
    version, _ = read_state(connection)
    seqs = _list_split_turns(connection)
    affected, gone = {"items": json.dumps(seqs)}, {"items": _list_doomed_items(connection)}
    origins = connection.execute(get_query("left_origins"), gone).fetchall()
    return ForgetPlan(
        version=version,
        turns=tuple(item for _, item in loaded_items(connection, seqs)),
        remaining=tuple(read_message(row) for row in connection.execute(get_query("left_of_items"), affected)),
        to_reread=tuple(read_message(row) for row in connection.execute(get_query("left_to_read_again"), gone)),
        origins=tuple(read_indexed_items(connection, origins, vectors=False)),
        used_in=frozenset(id_ for (id_,) in connection.execute(get_query("grounds_of_opinions"), gone)),
        segments=find_split_segments(connection),
    )


def remove_marked(connection: sqlite3.Connection, selection: ForgetSelection, remade: Changeset | None) -> RemovedRows:
    """Delete messages and everything derived from them, in the caller's transaction. The deleted data is overwritten.

    ``remade``, with new versions of turns that lose messages, is written in the same transaction, so that no message is
    ever without a turn. The transaction also records that the files must still be cleaned of the words.

    Raises:
        StaleWrite: ``remade`` was derived from another version of the bank, or turns lose messages and it is missing.
    """
    _mark(connection, selection)
    doomed = connection.execute(get_query("doomed_messages")).fetchall()
    facts = connection.execute(get_query("doomed_fact_texts")).fetchall()
    if not doomed and not facts:
        return RemovedRows()
    if not _holds_turns(remade) and _list_split_turns(connection):
        raise StaleWrite("some turns also contain messages that stay, but no new versions of these turns were given")
    connection.execute("PRAGMA secure_delete = ON")
    of_items = {"items": _list_doomed_items(connection)}
    touched = {"entities": json.dumps([id_ for (id_,) in connection.execute(get_query("entities_of"), of_items)])}
    links = connection.execute(get_query("count_links_of"), of_items).fetchone()[0]
    mentions = connection.execute(get_query("count_mentions_of"), of_items).fetchone()[0]
    jobs = cut_jobs(connection)
    connection.execute(get_query("succeed_items"), of_items)
    gone = connection.execute(get_query("delete_items"), of_items).rowcount
    if remade is not None:
        write_changes(connection, _drop_lost_links(connection, remade))
    connection.execute(get_query("restart_sessions"))
    connection.execute(get_query("delete_messages"))
    sessions = connection.execute(get_query("delete_empty_sessions")).rowcount
    connection.execute(get_query("delete_unheard_merges"))
    entities = connection.execute(get_query("delete_unmentioned_entities"), touched).rowcount
    connection.execute(get_query("retell_entities"), touched)
    connection.execute(get_query("purge_words"))
    connection.execute(get_query("bump_epoch"))
    connection.execute(get_query("owe_scrub"))
    return RemovedRows(
        messages=tuple(id_ for id_, _, _ in doomed),
        texts=(
            *(t for _, text, captions in doomed for t in (text, *json.loads(captions))),
            *(words for fact in facts for words in fact),
        ),
        sessions=sessions,
        items=gone,
        links=links,
        mentions=mentions,
        entities=entities,
        jobs=jobs,
    )


def scrub_files(database: Database, texts: Sequence[str], files: Sequence[Path]) -> tuple[str, ...]:
    """Rewrite the file, empty the write-ahead log, and return the files that still contain some of the texts.

    The result is the names of these files. Rewriting the file removes what earlier writes have left in unused parts of
    pages. A log that another process keeps open counts as containing some of the texts. Unless everything succeeds, the
    bank records that the cleaning is still to be done.
    """
    pieces = split_pieces(texts)
    with database.exclusive_connection() as connection:
        connection.execute("PRAGMA secure_delete = OFF")  # it would slow down every other write
        (forgotten,) = connection.execute(get_query("forgotten")).fetchone()
        held = _fold_log(connection)
        if not held:
            anew = _vacuum(connection)
            held = _fold_log(connection)
            if anew and not held:
                with suppress(sqlite3.OperationalError):  # another process is writing: a later scrub does it again
                    connection.execute(get_query("scrubbed"), (forgotten,))
        found = _find_leaks(connection, pieces, files)
    logs = {file.name for file in files if held and file.name.endswith("-wal")}
    return tuple(sorted({*found, *logs}))


def has_unscrubbed_files(database: Database) -> bool:
    """Return true if something was forgotten and the files were not cleaned of its words after that."""
    with database.read_transaction() as connection:
        return bool(connection.execute(get_query("owes_scrub")).fetchone()[0])


def _vacuum(connection: sqlite3.Connection) -> bool:
    """Rewrite the file. Return false if there was no room for a second copy, or if another process was in the way."""
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError:
        return False
    return True


def _fold_log(connection: sqlite3.Connection) -> bool:
    """Fold the write-ahead log into the file and empty it. Return true if another process prevented that."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy)


def _find_leaks(connection: sqlite3.Connection, pieces: Sequence[str], files: Sequence[Path]) -> set[str]:
    """Return the names of the files that contain pieces of text that are in no remaining row.

    Such pieces are a leak.
    """
    found = {file.name: find_pieces(file, pieces) for file in files}
    leaks = {
        piece
        for piece in set().union(*found.values())
        if not connection.execute(get_query("survives"), {"piece": piece}).fetchone()[0]
    }
    return {name for name, there in found.items() if there & leaks}


def _list_doomed_items(connection: sqlite3.Connection) -> str:
    """Return the numbers of the items that came from marked messages or facts, as a JSON list.

    Items that came from such items are included.
    """
    return json.dumps([item for (item,) in connection.execute(get_query("doomed_items"))])


def _list_split_turns(connection: sqlite3.Connection) -> list[int]:
    return [seq for (seq,) in connection.execute(get_query("split_turns"))]


def _holds_turns(remade: Changeset | None) -> bool:
    return remade is not None and any(entry.item.kind is ItemKind.TURN for entry in remade.items)


def _drop_lost_links(connection: sqlite3.Connection, remade: Changeset) -> Changeset:
    """Return the changes without links to removed items. These items still existed when the changes were derived."""
    there = {entry.item.id for entry in remade.items}
    there.update(find_numbers(connection, "seq_of_items", {end for k in remade.links for end in (k.source, k.target)}))
    return replace(remade, links=tuple(k for k in remade.links if k.source in there and k.target in there))


def _mark(connection: sqlite3.Connection, selection: ForgetSelection) -> None:
    connection.execute(get_query("doomed_clear"))
    connection.execute(get_query("doomed_facts_clear"))
    for name, wanted in (
        ("doomed_by_message", selection.messages),
        ("doomed_by_session", selection.sessions),
        ("doomed_by_speaker", selection.speakers),
    ):
        connection.executemany(get_query(name), [(one,) for one in wanted])
    if selection.entities:
        _mark_entities(connection, selection.entities)
    if selection.during is not None:
        connection.execute(get_query("doomed_by_time"), _make_bounds(selection.during))
        connection.execute(get_query("doomed_facts_by_time"), _make_bounds(selection.during))
    connection.executemany(get_query("doomed_fact_by_id"), [(one,) for one in selection.facts])


def _mark_entities(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    """Mark what mentions entities, and every message that contains one of their names word for word.

    Names are read only from the opening words of a turn, but a name in an assistant's answer must be removed as well.
    """
    found = connection.execute(get_query("entities_named"), {"names": json.dumps(names)})
    ids = json.dumps([id_ for (id_,) in found])
    surfaces = {surface for (surface,) in connection.execute(get_query("surfaces_of"), {"entities": ids})}
    connection.execute(get_query("doomed_by_entity"), {"entities": ids})
    for name in surfaces.union(names):
        connection.execute(get_query("doomed_by_name"), {"phrase": quote_phrase(name), "name": name})
    connection.execute(get_query("doomed_by_episode"), {"entities": ids})
    connection.execute(get_query("doomed_facts_by_entity"), {"entities": ids})
    for name in surfaces.union(names):
        connection.execute(get_query("doomed_facts_by_name"), {"phrase": quote_phrase(name), "name": name})


def _make_bounds(during: Interval) -> dict[str, int]:
    return {
        "start": -_FOREVER if during.start is None else to_micros(during.start),
        "end": _FOREVER if during.end is None else to_micros(during.end),
    }
