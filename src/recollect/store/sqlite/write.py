"""Write a changeset, all in the transaction that the caller has opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from recollect.domain.changes import Changeset, Supersession
from recollect.domain.items import IndexedItem
from recollect.domain.jobs import Job
from recollect.domain.messages import StoredMessage
from recollect.domain.time import to_micros
from recollect.domain.vectors import LARGEST_NUMBER, is_storable
from recollect.errors import EmbedderMismatch, InvalidInput, MessageConflict, StaleWrite
from recollect.store.sqlite.database import EMBEDDER_KEYS, read_embedder, read_state
from recollect.store.sqlite.jobs import add_jobs, finish_job
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import (
    make_entity_row,
    make_item_row,
    make_merge_row,
    make_message_row,
    make_occurrence_row,
    make_triple_row,
    utc_offset_minutes,
)
from recollect.store.sqlite.segments import list_end_messages, put_segments, put_stream

Vector = NDArray[np.float32]

# The queries that clear the parts of an item before it is written again.
_CLEAR = ("clear_occurrences", "clear_sources", "clear_derivations", "clear_mentions", "clear_links", "clear_triple")


def write_changes(connection: sqlite3.Connection, changes: Changeset) -> None:
    """Write a changeset.

    Raises:
        StaleWrite: the bank has changed since the changeset was derived.
        LostLease: the job that the changes settle no longer belongs to this worker.
        MessageConflict: a message id is already taken.
        InvalidInput: the changes name a message, an item, an entity or a session that does not exist.
    """
    require_version(connection, changes.expected_version)
    if changes.settled_job is not None:
        finish_job(connection, changes.settled_job)
    (version,) = connection.execute(get_query("bump_version"), (changes.author,)).fetchone()
    try:
        _write(connection, changes, version)
    except sqlite3.IntegrityError as exc:
        raise InvalidInput(f"the changes name a session or an entity that is not in the bank ({exc})") from exc


def _write(connection: sqlite3.Connection, changes: Changeset, version: int) -> None:
    sessions = [(s.id, to_micros(s.started), utc_offset_minutes(s.started)) for s in changes.sessions]
    connection.executemany(get_query("add_session"), sessions)
    _add_messages(connection, changes.messages)
    _put_items(connection, changes.items, version)
    ids = {end for link in changes.links for end in (link.source, link.target)}
    ids.update(mention.item for mention in changes.mentions)
    seqs = _require_numbers(connection, "seq_of_items", ids)
    links = [(seqs[k.source], seqs[k.target], k.kind.value, k.label, k.weight) for k in changes.links]
    connection.executemany(get_query("add_link"), links)
    connection.executemany(get_query("put_entity"), [make_entity_row(entity) for entity in changes.entities])
    mentions = [(m.entity, seqs[m.item], m.surface) for m in changes.mentions]
    connection.executemany(get_query("add_mention"), mentions)
    connection.executemany(get_query("put_merge"), [make_merge_row(merge) for merge in changes.merges])
    _supersede(connection, changes.supersedes, version)
    _add_jobs(connection, changes.jobs)
    _put_settings(connection, changes.settings)
    _put_windows(connection, changes)


def require_version(connection: sqlite3.Connection, expected: int | None) -> None:
    """Raise an error if a write was derived from another version of the bank.

    Raises:
        StaleWrite: the versions differ. The message names both.
    """
    version, _ = read_state(connection)
    if expected is not None and version != expected:
        raise StaleWrite(f"the bank has changed from version {expected} to version {version} since it was read")


def require_vectors(
    connection: sqlite3.Connection, items: Sequence[IndexedItem], embedder: str, dimension: int
) -> None:
    """Raise an error if vectors do not match those of the bank.

    Raises:
        EmbedderMismatch: another process has replaced the bank's vectors with another embedder's since it was opened
            here.
        InvalidInput: a vector has another length than the bank's vectors, or numbers that cannot be stored.
    """
    require_embedder(connection, embedder, dimension)
    check_vectors([(entry.item.id, entry.vector) for entry in items], embedder, dimension)


def check_vectors(vectors: Sequence[tuple[str, Vector]], embedder: str, dimension: int) -> None:
    """Raise an error if the vectors of items cannot be those of an embedder.

    Raises:
        InvalidInput: a vector has another length, or numbers that are not finite or too large to be stored.
    """
    for id_, vector in vectors:
        if vector.shape != (dimension,):
            raise InvalidInput(
                f"item {id_!r} has a vector of shape {vector.shape}, but those of {embedder} have ({dimension},)"
            )
    if vectors and not is_storable(np.stack([vector for _, vector in vectors])):
        id_ = next(id_ for id_, vector in vectors if not is_storable(vector))
        raise InvalidInput(
            f"the vector of item {id_!r}, from the embedder {embedder}, has numbers that are not finite, or larger "
            f"than {LARGEST_NUMBER:,.0f}"
        )


def require_embedder(connection: sqlite3.Connection, embedder: str, dimension: int) -> None:
    """Raise an error if another process has replaced the bank's vectors with those of another embedder.

    Raises:
        EmbedderMismatch: the embedder or the dimension differs. The message names the new embedder.
    """
    recorded = read_embedder(connection)
    if recorded != (embedder, dimension):
        name, length = recorded or ("nobody", 0)
        raise EmbedderMismatch(
            f"the bank was opened with vectors of {embedder} ({dimension} dimensions), but it has since been rebuilt "
            f"with vectors of {name} ({length} dimensions). Open it again with that embedder"
        )


def find_numbers(connection: sqlite3.Connection, name: str, ids: Iterable[str]) -> dict[str, int]:
    """Return the store's numbers of messages or items, from a query that takes a JSON list of ids."""
    return dict(connection.execute(get_query(name), (json.dumps(list(ids)),)).fetchall())


def _require_numbers(connection: sqlite3.Connection, name: str, ids: Iterable[str]) -> dict[str, int]:
    """Return the store's numbers of messages or items that must exist.

    Raises:
        InvalidInput: one of them does not exist.
    """
    wanted = set(ids)
    numbers = find_numbers(connection, name, wanted)
    if missing := wanted.difference(numbers):
        raise InvalidInput(f"the changes name {min(missing)!r}, which is not in the bank")
    return numbers


def _add_messages(connection: sqlite3.Connection, messages: Sequence[StoredMessage]) -> None:
    try:
        connection.executemany(get_query("add_message"), [make_message_row(message) for message in messages])
    except sqlite3.IntegrityError as exc:
        if exc.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
            raise
        raise MessageConflict(f"a message id is already taken in this bank ({exc})") from exc


def _put_items(connection: sqlite3.Connection, items: Sequence[IndexedItem], version: int) -> None:
    if not items:
        return
    known = find_numbers(connection, "seq_of_items", (entry.item.id for entry in items))
    for seq in known.values():
        for clear in _CLEAR:
            connection.execute(get_query(clear), (seq,))
    (last,) = connection.execute(get_query("last_item")).fetchone()
    fresh = count(last + 1)
    numbered = [(known[entry.item.id] if entry.item.id in known else next(fresh), entry) for entry in items]
    connection.executemany(
        get_query("put_item"), [(seq, *make_item_row(entry.item, version)) for seq, entry in numbered]
    )
    connection.execute(get_query("add_words"), (last,))
    connection.executemany(get_query("put_indexing"), [_make_indexing_row(seq, entry) for seq, entry in numbered])
    connection.executemany(
        get_query("add_occurrence"),
        [make_occurrence_row(seq, n, o) for seq, entry in numbered for n, o in enumerate(entry.item.occurrences)],
    )
    stated = [(seq, entry.item.triple) for seq, entry in numbered]
    connection.executemany(get_query("add_triple"), [make_triple_row(seq, t) for seq, t in stated if t is not None])
    messages = _require_numbers(connection, "seq_of_messages", {s for entry in items for s in entry.item.sources})
    connection.executemany(
        get_query("add_source"),
        [(seq, n, messages[source]) for seq, entry in numbered for n, source in enumerate(entry.item.sources)],
    )
    origins = _require_numbers(connection, "seq_of_items", {o for entry in items for o in entry.item.derived_from})
    connection.executemany(
        get_query("add_derivation"),
        [(seq, n, origins[origin]) for seq, entry in numbered for n, origin in enumerate(entry.item.derived_from)],
    )


def _supersede(connection: sqlite3.Connection, supersedes: Sequence[Supersession], version: int) -> None:
    named = {id_ for one in supersedes for id_ in (one.item, one.by) if id_ is not None}
    seqs = _require_numbers(connection, "seq_of_items", named)
    rows = [(to_micros(s.at), None if s.by is None else seqs[s.by], version, seqs[s.item]) for s in supersedes]
    connection.executemany(get_query("supersede"), rows)


def _add_jobs(connection: sqlite3.Connection, jobs: Sequence[Job]) -> None:
    if jobs:
        add_jobs(
            connection, jobs, _require_numbers(connection, "seq_of_messages", {m for job in jobs for m in job.messages})
        )


def _put_windows(connection: sqlite3.Connection, changes: Changeset) -> None:
    numbers = _require_numbers(connection, "seq_of_messages", list_end_messages(changes.segments, changes.stream))
    put_segments(connection, changes.segments, numbers)
    if changes.stream is not None:
        put_stream(connection, changes.stream, numbers)


def _put_settings(connection: sqlite3.Connection, settings: Sequence[tuple[str, str]]) -> None:
    for key, value in settings:
        if key in EMBEDDER_KEYS:
            raise InvalidInput(f"the setting {key!r} describes the bank's vectors. It cannot be changed without them")
        connection.execute(get_query("set_setting"), {"key": key, "value": value})


def _make_indexing_row(seq: int, entry: IndexedItem) -> tuple[int, bytes, bytes, int]:
    return seq, pack_vector(entry.vector), entry.terms.astype("<u4").tobytes(), int(entry.asks)


def pack_vector(vector: Vector) -> bytes:
    """Return a vector as it is stored: float16, little-endian."""
    return vector.astype("<f2").tobytes()
