"""Taking messages away, with all that came of them, and looking whether anything is left."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recollect.domain.time import Interval, to_micros
from recollect.store.protocol import Selection
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.sql import query

_FOREVER = int(np.iinfo(np.int64).max)
_PIECE = 48
_SHORTEST_PIECE = 12
_MOST_PIECES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What a removal took away, in numbers; ``texts`` are the words to look for, ``orphans`` ids left without a turn."""

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
    """Delete messages and everything derived from them, in the caller's transaction."""
    _mark(connection, selection)
    doomed = connection.execute(query("doomed_messages")).fetchall()
    if not doomed:
        return Removed()
    items = json.dumps([item for (item,) in connection.execute(query("doomed_items"))])
    of_items = {"items": items}
    orphans = tuple(id_ for (id_,) in connection.execute(query("orphans"), of_items))
    links = connection.execute(query("count_links_of"), of_items).fetchone()[0]
    mentions = connection.execute(query("count_mentions_of"), of_items).fetchone()[0]
    jobs = connection.execute(query("delete_jobs")).rowcount
    gone = connection.execute(query("delete_items"), of_items).rowcount
    connection.execute(query("delete_messages"))
    sessions = connection.execute(query("delete_empty_sessions")).rowcount
    connection.execute(query("delete_unheard_merges"))
    entities = connection.execute(query("delete_unmentioned_entities")).rowcount
    connection.execute(query("rename_entities"))
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
    """Fold the write-ahead log into the file and look for the texts in every file; names those that hold some.

    Pages are overwritten as they are freed; where a trace is found all the same, the file is written anew and looked
    through again.
    """
    with database.alone() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pieces = list(_telling_pieces(connection, texts))
        found = _files_holding(pieces, files)
        if found:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            found = _files_holding(pieces, files)
    return found


def _mark(connection: sqlite3.Connection, selection: Selection) -> None:
    connection.execute(query("doomed_clear"))
    for name, wanted in (
        ("doomed_by_message", selection.messages),
        ("doomed_by_session", selection.sessions),
        ("doomed_by_speaker", selection.speakers),
    ):
        if wanted:
            connection.execute(query(name), (json.dumps(wanted),))
    if selection.entities:
        named = connection.execute(query("entities_named"), {"names": json.dumps(selection.entities)})
        ids = json.dumps([id_ for (id_,) in named])
        connection.execute(query("doomed_by_entity"), {"entities": ids})
    if selection.during is not None:
        connection.execute(query("doomed_by_time"), _bounds(selection.during))


def _bounds(during: Interval) -> dict[str, int]:
    return {
        "start": -_FOREVER if during.start is None else to_micros(during.start),
        "end": _FOREVER if during.end is None else to_micros(during.end),
    }


def _telling_pieces(connection: sqlite3.Connection, texts: Sequence[str]) -> Iterator[bytes]:
    """Pieces of the forgotten texts that no surviving message or item contains: finding one would be a leak."""
    pieces = list(dict.fromkeys(piece for text in texts for piece in _pieces(text)))
    step = max(1, len(pieces) // _MOST_PIECES)
    for piece in pieces[::step]:
        if not connection.execute(query("survives"), {"piece": piece}).fetchone()[0]:
            yield piece.encode("utf-8")


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, max(len(text), 1), _PIECE):
        piece = text[start : start + _PIECE]
        if len(piece) >= _SHORTEST_PIECE:
            yield piece


def _files_holding(pieces: Sequence[bytes], files: Sequence[Path]) -> tuple[str, ...]:
    return tuple(file.name for file in files if file.exists() and _holds(file, pieces))


def _holds(file: Path, pieces: Sequence[bytes]) -> bool:
    content = file.read_bytes()
    return any(piece in content for piece in pieces)
