"""A recording: a folder with recorded replies and a page that says how they were made."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Self

from recollect.errors import InvalidInput, MalformedLine
from recollect_lab.recordings.recorded_reply import Body, RecordedReply, RequestKey, dump_reply, load_reply
from recollect_lab.recordings.stand_in import find_stand_in

REPLIES = "replies.jsonl"


class Recording:
    """Recorded replies by the keys of their requests. Safe to share between threads.

    For each new reply the whole file is written under another name, and then replaces the old one. Two processes that
    record into the same folder would overwrite each other's replies.

    Args:
        folder: the folder with ``replies.jsonl``.
        entries: the replies in it.
    """

    def __init__(self, folder: Path, entries: Iterable[RecordedReply] = ()) -> None:
        self._folder = folder
        self._entries = {entry.asked.key: entry for entry in entries}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path, *, create: bool = False) -> Self:
        """Read a recording. With ``create``, the folder may be without a recording, or may not exist yet.

        Raises:
            InvalidInput: there is no recording, or it cannot be read.
            MalformedLine: a line is not a recorded reply, or a key is there twice.
        """
        try:
            text = (folder / REPLIES).read_text("utf-8")
        except FileNotFoundError as exc:
            if create:
                return cls(folder)
            raise InvalidInput(f"no recording in {folder}: it has no {REPLIES}") from exc
        except (OSError, UnicodeDecodeError) as exc:
            raise InvalidInput(f"cannot read {folder / REPLIES}: {exc}") from exc
        return cls(folder, _parse_entries(text))

    @property
    def entries(self) -> tuple[RecordedReply, ...]:
        """Return all recorded replies, sorted by role, subject, operation."""
        with self._lock:
            return _sort_entries(self._entries.values())

    def get(self, key: str) -> RecordedReply | None:
        """Return the reply that was recorded for exactly this request, or ``None``."""
        return self._entries.get(key)

    def find_stand_in(self, asked: RequestKey, body: Body) -> RecordedReply | None:
        """Return the reply that was recorded for the same role, operation and subject, and for the most similar
        words.
        """
        return find_stand_in(self.entries, asked, body)

    def add(self, entry: RecordedReply) -> None:
        """Record a reply. It is on disk when this returns. It replaces an earlier reply to the same request.

        Raises:
            OSError: the file could not be written. The recording did not change.
        """
        with self._lock:
            self._replace({**self._entries, entry.asked.key: entry})

    def prune(self, used: Collection[str]) -> tuple[RecordedReply, ...]:
        """Drop every reply whose key is not in ``used``, and return the dropped replies.

        Raises:
            OSError: the file could not be written. The recording did not change.
        """
        with self._lock:
            kept = {key: entry for key, entry in self._entries.items() if key in used}
            dropped = _sort_entries(entry for key, entry in self._entries.items() if key not in used)
            if dropped:
                self._replace(kept)
            return dropped

    def _replace(self, entries: dict[str, RecordedReply]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"{REPLIES}.part"
        try:
            with part.open("wb") as out:
                out.writelines(map(dump_reply, _sort_entries(entries.values())))
                out.flush()
                os.fsync(out.fileno())
            part.replace(self._folder / REPLIES)
        finally:
            part.unlink(missing_ok=True)
        self._entries = entries


def _parse_entries(text: str) -> list[RecordedReply]:
    entries: dict[str, RecordedReply] = {}
    for number, line in enumerate(text.split("\n"), start=1):  # a reply may contain other line separators
        if not line.strip():
            continue
        entry = load_reply(line, number)
        if entry.asked.key in entries:
            raise MalformedLine(number, f"the key {entry.asked.key} appears twice")
        entries[entry.asked.key] = entry
    return list(entries.values())


def _sort_entries(entries: Iterable[RecordedReply]) -> tuple[RecordedReply, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.sort_key))
