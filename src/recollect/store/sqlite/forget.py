"""Remove messages with everything derived from them, and with everything that quotes them."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace

from recollect.domain.changes import Changeset
from recollect.domain.items import Item, ItemKind
from recollect.domain.receipts import RemovedQuote
from recollect.errors import NotABank, StaleWrite
from recollect.store.forget_plan import ForgetPlan
from recollect.store.profile_setting import PROFILE_KEY, cut_profile
from recollect.store.protocol import ForgetSelection
from recollect.store.sqlite.database import read_state
from recollect.store.sqlite.dump import read_indexed_items
from recollect.store.sqlite.feed import loaded_items
from recollect.store.sqlite.forget_marks import list_doomed_items, list_possible, mark_selection
from recollect.store.sqlite.jobs import count_cut_jobs, cut_jobs
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.quote_rows import (
    ForgottenTexts,
    QuotingRows,
    list_doomed_messages,
    read_forgotten_texts,
)
from recollect.store.sqlite.rows import read_message, reports_damage
from recollect.store.sqlite.segments import find_split_segments
from recollect.store.sqlite.write import find_numbers, write_changes
from recollect.text.quotes import Quotes, cut_quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedRows:
    """The result of a removal, or what it would be.

    ``forgotten`` are the words to look for in the files. ``spans`` are the parts of these words by which a quote of
    them is recognised (:mod:`recollect.text.quotes`).
    """

    messages: tuple[str, ...] = ()
    forgotten: ForgottenTexts = ForgottenTexts()
    spans: Quotes = Quotes()
    sessions: int = 0
    items: int = 0
    links: int = 0
    mentions: int = 0
    entities: int = 0
    jobs: int = 0
    quotes: tuple[RemovedQuote, ...] = ()
    possible: tuple[str, ...] = ()


@reports_damage
def plan_forget(connection: sqlite3.Connection, selection: ForgetSelection) -> ForgetPlan:
    """Return the plan of a forgetting: everything that would lose only a part of its messages or sources."""
    mark_selection(connection, selection)
    version, _ = read_state(connection)
    seqs = _list_split_turns(connection)
    affected, gone = {"items": json.dumps(seqs)}, {"items": list_doomed_items(connection)}
    origins = connection.execute(get_query("left_origins"), gone).fetchall()
    return ForgetPlan(
        version=version,
        turns=_load_turns(connection, seqs),
        remaining=tuple(read_message(row) for row in connection.execute(get_query("left_of_items"), affected)),
        to_reread=tuple(read_message(row) for row in connection.execute(get_query("left_to_read_again"), gone)),
        origins=tuple(read_indexed_items(connection, origins, vectors=False)),
        used_in=frozenset(id_ for (id_,) in connection.execute(get_query("grounds_of_opinions"), gone)),
        segments=find_split_segments(connection),
        texts=read_forgotten_texts(connection).texts,
    )


@reports_damage
def preview_forget(connection: sqlite3.Connection, selection: ForgetSelection) -> RemovedRows:
    """Return what would be removed, without any change."""
    found = mark_selection(connection, selection)
    gone = {"items": list_doomed_items(connection)}

    def count(name: str) -> int:
        return int(connection.execute(get_query(name), gone).fetchone()[0])

    return RemovedRows(
        messages=list_doomed_messages(connection),
        sessions=count("count_doomed_sessions"),
        items=len(json.loads(gone["items"])),
        links=count("count_links_of"),
        entities=count("count_doomed_entities"),
        mentions=count("count_mentions_of"),
        jobs=count_cut_jobs(connection, found.jobs),
        quotes=_list_quotes(connection, found, gone["items"]),
        possible=list_possible(connection),
    )


@reports_damage
def remove_marked(connection: sqlite3.Connection, selection: ForgetSelection, remade: Changeset | None) -> RemovedRows:
    """Delete messages and everything derived from them, in the caller's transaction. The deleted data is overwritten.

    What quotes them is deleted too. ``remade``, with new versions of turns that lose messages, is written in the same
    transaction, so that no message is ever without a turn. The transaction also records that the files must still be
    cleaned of the words.

    Raises:
        StaleWrite: ``remade`` was derived from another version of the bank, or turns lose messages and it is missing.
    """
    found = mark_selection(connection, selection)
    forgotten = read_forgotten_texts(connection)
    messages = list_doomed_messages(connection)
    possible = list_possible(connection)
    if not messages and not forgotten.texts:
        return RemovedRows(possible=possible)
    if not _holds_turns(remade) and _list_split_turns(connection):
        raise StaleWrite("some turns also contain messages that stay, but no new versions of these turns were given")
    connection.execute("PRAGMA secure_delete = ON")
    of_items = {"items": list_doomed_items(connection)}
    quotes = _list_quotes(connection, found, of_items["items"])
    renamed = _list_renamed(connection, found, of_items["items"])
    touched = {*_find_ids(connection, "entities_of", of_items), *renamed}
    _delete_names(connection, found, of_items["items"])
    links = connection.execute(get_query("count_links_of"), of_items).fetchone()[0]
    mentions = connection.execute(get_query("count_mentions_of"), of_items).fetchone()[0]
    jobs = cut_jobs(connection, found.jobs)
    connection.execute(get_query("succeed_items"), of_items)
    gone = connection.execute(get_query("delete_items"), of_items).rowcount
    if remade is not None:
        write_changes(connection, _drop_lost_links(connection, remade))
    connection.execute(get_query("restart_sessions"))
    connection.execute(get_query("delete_messages"))
    sessions = connection.execute(get_query("delete_empty_sessions")).rowcount
    connection.execute(get_query("delete_unheard_merges"))
    entities = connection.execute(get_query("delete_unmentioned_entities"), {"entities": json.dumps(sorted(touched))})
    connection.execute(get_query("retell_entities"), {"entities": json.dumps(sorted(touched))})
    _cut_settings(connection, found)
    connection.execute(get_query("purge_words"))
    connection.execute(get_query("bump_epoch"))
    connection.execute(get_query("owe_scrub"))
    return RemovedRows(
        messages=messages,
        forgotten=forgotten,
        spans=found.forgotten,
        sessions=sessions,
        items=gone,
        links=links,
        mentions=mentions,
        entities=entities.rowcount,
        jobs=jobs,
        quotes=quotes,
        possible=possible,
    )


def _list_quotes(connection: sqlite3.Connection, found: QuotingRows, doomed_items: str) -> tuple[RemovedQuote, ...]:
    items = connection.execute(get_query("doomed_item_names"))
    return (
        *(RemovedQuote(kind=kind, id=id_) for id_, kind in items),
        *(RemovedQuote(kind="link") for _ in found.labels),
        *(RemovedQuote(kind="name", id=id_) for id_ in _list_renamed(connection, found, doomed_items)),
        *(RemovedQuote(kind="job", id=id_) for id_ in found.jobs),
        *(RemovedQuote(kind="profile" if key == PROFILE_KEY else "setting", id=key) for key in found.settings),
    )


def _list_renamed(connection: sqlite3.Connection, found: QuotingRows, doomed_items: str) -> list[str]:
    """Return the entities that stay, and lose a name which quotes a forgotten text."""
    mentioned = set(found.entities)
    for surface in found.surfaces:
        rows = connection.execute(get_query("entities_of_surface"), {"surface": surface, "items": doomed_items})
        mentioned.update(id_ for (id_,) in rows)
    return sorted(mentioned)


def _delete_names(connection: sqlite3.Connection, found: QuotingRows, doomed_items: str) -> None:
    """Delete the labels of links, and the spellings of names, that quote forgotten texts."""
    connection.executemany(get_query("delete_labelled_links"), [(label,) for label in found.labels])
    surfaces = [{"surface": surface, "items": doomed_items} for surface in found.surfaces]
    connection.executemany(get_query("delete_surface"), surfaces)


def _cut_settings(connection: sqlite3.Connection, found: QuotingRows) -> None:
    """Cut the sentences that quote forgotten texts from the profile, and delete other settings that quote them."""
    for key in found.settings:
        (value,) = connection.execute(get_query("setting"), (key,)).fetchone()
        if key == PROFILE_KEY:
            value = cut_profile(value, lambda text: cut_quotes(text, found.quotes))
            connection.execute(get_query("set_setting"), {"key": key, "value": value})
        else:
            connection.execute(get_query("delete_setting"), (key,))


def _find_ids(connection: sqlite3.Connection, name: str, bounds: dict[str, str]) -> list[str]:
    return [id_ for (id_,) in connection.execute(get_query(name), bounds)]


def _list_split_turns(connection: sqlite3.Connection) -> list[int]:
    return [seq for (seq,) in connection.execute(get_query("split_turns"))]


def _load_turns(connection: sqlite3.Connection, seqs: list[int]) -> tuple[Item, ...]:
    """Return turns by number.

    Raises:
        NotABank: a turn has lost its messages by damage to the file.
    """
    turns = tuple(item for _, item in loaded_items(connection, seqs))
    if len(turns) != len(seqs) or not all(turn.sources for turn in turns):
        raise NotABank("the bank is damaged: a turn, or the messages of a turn, cannot be read")
    return turns


def _holds_turns(remade: Changeset | None) -> bool:
    return remade is not None and any(entry.item.kind is ItemKind.TURN for entry in remade.items)


def _drop_lost_links(connection: sqlite3.Connection, remade: Changeset) -> Changeset:
    """Return the changes without links to removed items. These items still existed when the changes were derived."""
    there = {entry.item.id for entry in remade.items}
    there.update(find_numbers(connection, "seq_of_items", {end for k in remade.links for end in (k.source, k.target)}))
    return replace(remade, links=tuple(k for k in remade.links if k.source in there and k.target in there))
