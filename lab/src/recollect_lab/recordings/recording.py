"""A recording: a folder with kept replies and a page on how they were made."""

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
    """Kept replies by their requests' keys; safe to share between threads.

    The file is written anew for each reply that is kept, beside itself, and put in place whole; two processes that keep
    replies in one folder would undo each other's.

    Args:
        folder: holds ``replies.jsonl``.
        entries: what is in it.
    """

    def __init__(self, folder: Path, entries: Iterable[RecordedReply] = ()) -> None:
        self._folder = folder
        self._entries = {entry.asked.key: entry for entry in entries}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path, *, create: bool = False) -> Self:
        """Read a recording; ``create`` makes do with a folder that has none, or is none yet.

        Raises:
            InvalidInput: there is no recording, or it cannot be read.
            MalformedLine: a line of it is no kept reply, or a key is there twice.
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
        """Every kept reply, sorted by role, subject, operation."""
        with self._lock:
            return _sort_entries(self._entries.values())

    def get(self, key: str) -> RecordedReply | None:
        """The reply kept for exactly this request."""
        return self._entries.get(key)

    def find_stand_in(self, asked: RequestKey, body: Body) -> RecordedReply | None:
        """The reply kept for the same role, operation and subject, in words most like these."""
        return find_stand_in(self.entries, asked, body)

    def add(self, entry: RecordedReply) -> None:
        """Keep a reply, on disk when this returns; one that was kept for the same request gives way.

        Raises:
            OSError: the file could not be written; the recording is as it was.
        """
        with self._lock:
            self._replace({**self._entries, entry.asked.key: entry})

    def prune(self, used: Collection[str]) -> tuple[RecordedReply, ...]:
        """Drop every reply whose key is not among these; gives what was dropped.

        Raises:
            OSError: the file could not be written; the recording is as it was.
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
    for number, line in enumerate(text.split("\n"), start=1):  # a reply may hold any other sign that ends a line
        if not line.strip():
            continue
        entry = load_reply(line, number)
        if entry.asked.key in entries:
            raise MalformedLine(number, f"the key {entry.asked.key} is there twice")
        entries[entry.asked.key] = entry
    return list(entries.values())


def _sort_entries(entries: Iterable[RecordedReply]) -> tuple[RecordedReply, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.sort_key))
