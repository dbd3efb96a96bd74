"""Taking messages away, with all that came of them, and looking whether anything is left."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recollect.domain.time import Interval, to_micros
from recollect.store.protocol import Selection
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.sql import phrase, query
from recollect.store.sqlite.traces import pieces_in, pieces_of

_FOREVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What a removal took away; ``texts`` are words to look for, ``orphans`` ids of messages left without a turn."""

    messages: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    sessions: int = 0
    items: int = 0
    links: int = 0
    mentions: int = 0
    entities: int = 0
    jobs: int = 0


def remove(connection: sqlite3.Connection, selection: Selection) -> Removed:
    """Delete messages and everything derived from them, in the caller's transaction; what is deleted is overwritten."""
    connection.execute("PRAGMA secure_delete = ON")
    _mark(connection, selection)
    doomed = connection.execute(query("doomed_messages")).fetchall()
    if not doomed:
        return Removed()
    items = json.dumps([item for (item,) in connection.execute(query("doomed_items"))])
    of_items = {"items": items}
    touched = {"entities": json.dumps([id_ for (id_,) in connection.execute(query("entities_of"), of_items)])}
    orphans = tuple(id_ for (id_,) in connection.execute(query("orphans"), of_items))
    links = connection.execute(query("count_links_of"), of_items).fetchone()[0]
    mentions = connection.execute(query("count_mentions_of"), of_items).fetchone()[0]
    jobs = connection.execute(query("delete_jobs")).rowcount
    gone = connection.execute(query("delete_items"), of_items).rowcount
    connection.execute(query("restart_sessions"))
    connection.execute(query("delete_messages"))
    sessions = connection.execute(query("delete_empty_sessions")).rowcount
    connection.execute(query("delete_unheard_merges"))
    entities = connection.execute(query("delete_unmentioned_entities"), touched).rowcount
    connection.execute(query("retell_entities"), touched)
    connection.execute(query("purge_words"))
    connection.execute(query("bump_epoch"))
    return Removed(
        messages=tuple(id_ for id_, _, _ in doomed),
        texts=tuple(t for _, text, captions in doomed for t in (text, *json.loads(captions))),
        orphans=orphans,
        sessions=sessions,
        items=gone,
        links=links,
        mentions=mentions,
        entities=entities,
        jobs=jobs,
    )


def scrub(database: Database, texts: Sequence[str], files: Sequence[Path]) -> tuple[str, ...]:
    """Write the file anew, empty the write-ahead log, and look for the texts in every file; names those that hold some.

    Writing it anew leaves behind whatever earlier writes have left in unused parts of pages. A log that another
    process keeps open counts as holding some.
    """
    pieces = pieces_of(texts)
    with database.alone() as connection:
        connection.execute("PRAGMA secure_delete = OFF")  # it slows down every other write
        held = _fold_log(connection)
        if not held:
            with suppress(sqlite3.OperationalError):  # no room for a second copy: the receipt tells what is left
                connection.execute("VACUUM")
            held = _fold_log(connection)
        found = _files_holding(connection, pieces, files)
    logs = {file.name for file in files if held and file.name.endswith("-wal")}
    return tuple(sorted({*found, *logs}))


def _fold_log(connection: sqlite3.Connection) -> bool:
    """Fold the write-ahead log into the file and empty it; gives whether another process kept that from happening."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy)


def _files_holding(connection: sqlite3.Connection, pieces: Sequence[str], files: Sequence[Path]) -> set[str]:
    """Names of the files that hold pieces which no surviving row has: those would be a leak."""
    found = {file.name: pieces_in(file, pieces) for file in files}
    leaks = {
        piece
        for piece in set().union(*found.values())
        if not connection.execute(query("survives"), {"piece": piece}).fetchone()[0]
    }
    return {name for name, there in found.items() if there & leaks}


def _mark(connection: sqlite3.Connection, selection: Selection) -> None:
    connection.execute(query("doomed_clear"))
    for name, wanted in (
        ("doomed_by_message", selection.messages),
        ("doomed_by_session", selection.sessions),
        ("doomed_by_speaker", selection.speakers),
    ):
        connection.executemany(query(name), [(one,) for one in wanted])
    if selection.entities:
        _mark_entities(connection, selection.entities)
    if selection.during is not None:
        connection.execute(query("doomed_by_time"), _bounds(selection.during))


def _mark_entities(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    """Mark what mentions entities, and every message that holds one of their names word for word.

    Names are read from a turn's opening words only; the name in an assistant's answer must go as well.
    """
    found = connection.execute(query("entities_named"), {"names": json.dumps(names)})
    ids = json.dumps([id_ for (id_,) in found])
    surfaces = {surface for (surface,) in connection.execute(query("surfaces_of"), {"entities": ids})}
    connection.execute(query("doomed_by_entity"), {"entities": ids})
    for name in surfaces.union(names):
        connection.execute(query("doomed_by_name"), {"phrase": phrase(name), "name": name})


def _bounds(during: Interval) -> dict[str, int]:
    return {
        "start": -_FOREVER if during.start is None else to_micros(during.start),
        "end": _FOREVER if during.end is None else to_micros(during.end),
    }
