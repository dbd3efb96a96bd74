"""Clean a bank's files of forgotten words, and check whether any of these words are left."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from recollect.domain.receipts import Verification
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.leak_search import find_pieces, find_pieces_in_cells, is_searchable, split_pieces
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.quote_rows import ForgottenTexts, find_quoting_columns, list_text_columns
from recollect.text.quotes import Quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubResult:
    """The files and columns in which words were found, and the reasons why the check is not complete."""

    leftovers: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def verification(self) -> Verification:
        if self.leftovers:
            return Verification.WORDS_LEFT
        return Verification.UNKNOWN if self.reasons else Verification.VERIFIED


def scrub_files(database: Database, forgotten: ForgottenTexts, spans: Quotes, files: Sequence[Path]) -> ScrubResult:
    """Rewrite the file, empty the write-ahead log, and search the files and the rows for forgotten words.

    Rewriting the file removes what earlier writes have left in unused parts of pages. A log that another process keeps
    open counts as containing some of the words. Unless everything succeeds, the bank records that the cleaning is still
    to be done.

    Args:
        database: the bank.
        forgotten: the forgotten texts. The files are searched for pieces of them.
        spans: their telling spans. The rows are searched for them.
        files: the files of the bank.
    """
    reasons = list(_describe_unsearchable(forgotten))
    leftovers: set[str] = set()
    with database.exclusive_connection() as connection:
        connection.execute("PRAGMA secure_delete = OFF")  # it would slow down every other write
        reasons += find_damage(connection)
        try:
            held, anew = _rewrite(connection)
            reasons += [] if anew else ["the file could not be written again; free space or other processes"]
            leftovers = {file.name for file in files if held and file.name.endswith("-wal")}
            leftovers.update(_find_leaks(connection, split_pieces(forgotten.texts), files))
            leftovers.update(find_quoting_columns(connection, spans))
        except (sqlite3.DatabaseError, OSError) as exc:
            reasons.append(f"the files could not be cleaned and read ({exc})")
    return ScrubResult(leftovers=tuple(sorted(leftovers)), reasons=tuple(dict.fromkeys(reasons)))


def check_files(database: Database) -> ScrubResult:
    """Return what is known of a bank in which nothing had to be forgotten. A damaged bank may hide messages."""
    with database.read_transaction() as connection:
        return ScrubResult(reasons=tuple(find_damage(connection)))


def has_unscrubbed_files(database: Database) -> bool:
    """Return true if something was forgotten and the files were not cleaned of its words after that."""
    with database.read_transaction() as connection:
        return bool(connection.execute(get_query("owes_scrub")).fetchone()[0])


def find_damage(connection: sqlite3.Connection) -> list[str]:
    """Return a description of damage to the file, if there is any. Damaged pages may hold words that nothing finds."""
    try:
        (told,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as exc:
        told = str(exc)
    return [] if told == "ok" else [f"the file is damaged ({told.splitlines()[-1] if told else 'unknown damage'})"]


def _describe_unsearchable(forgotten: ForgottenTexts) -> Iterator[str]:
    if forgotten.damaged:
        yield "some of the forgotten texts are damaged and could not be read in full"
    if not all(map(is_searchable, forgotten.texts)):
        yield "some of the forgotten texts consist of NUL characters, which every file contains"


def _rewrite(connection: sqlite3.Connection) -> tuple[bool, bool]:
    """Rewrite the file and empty the log. Return whether another process holds the log, and whether all was done."""
    (forgotten,) = connection.execute(get_query("forgotten")).fetchone()
    held, anew = _fold_log(connection), False
    if not held:
        anew = _vacuum(connection)
        held = _fold_log(connection)
        if anew and not held:
            with suppress(sqlite3.OperationalError):  # another process is writing: a later scrub does it again
                connection.execute(get_query("scrubbed"), (forgotten,))
    return held, anew or held


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
    # The shared memory of the log contains no text, and reading it would end SQLite's locks (see raw_files).
    found = {file.name: find_pieces(file, pieces) for file in files if not file.name.endswith("-shm")}
    there = set().union(*found.values())
    leaks = there - find_pieces_in_cells(_read_cells(connection), there) if there else set()
    return {name for name, ones in found.items() if ones & leaks}


def _read_cells(connection: sqlite3.Connection) -> Iterator[bytes]:
    """Yield the texts of all rows, also in the spelling of the full-text index, and the statements of the schema.

    The texts of turns are left out. They repeat messages that are still there.
    """
    for (sql,) in connection.execute("SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL"):
        yield sql
    for table, column in list_text_columns(connection):
        where = " WHERE kind NOT IN ('turn', 'segment')" if (table, column) == ("item", "text") else ""
        for (cell,) in connection.execute(f'SELECT DISTINCT CAST("{column}" AS BLOB) FROM "{table}"{where}'):
            if cell:
                yield cell
                lowered = cell.decode("utf-8", "replace").lower().encode()
                if lowered != cell:
                    yield lowered
    for (cell,) in connection.execute("SELECT CAST(speaker || ': ' || text AS BLOB) FROM message"):
        yield cell
