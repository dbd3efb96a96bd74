"""Answering requests from a recording, and noting how."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable

from recollect_lab.recordings.completion import completion_of, entry_of
from recollect_lab.recordings.entry import Asked, Body, Entry, asked_of, untagged
from recollect_lab.recordings.recording import Recording
from recollect_lab.recordings.report import ReplayReport, Stale
from recollect_lab.recordings.upstream import Answer, Upstream, told


class Replay:
    """Gives the reply recorded for a request; safe to share between threads.

    The exact request's reply comes first; else, with an upstream, its reply, which is kept; else the reply recorded
    for the same role, operation and subject, which counts as stale; else 404. An upstream's error is passed on and
    not kept. The same request twice at once is sent on once.

    Args:
        recording: where replies are, and are kept.
        upstream: who to ask for what is not recorded.
        clock: gives the present in seconds since 1970.
    """

    def __init__(self, recording: Recording, upstream: Upstream | None, clock: Callable[[], float]) -> None:
        self._recording, self._upstream, self._clock = recording, upstream, clock
        self._noting = threading.Lock()
        self._sending: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._exact: set[str] = set()
        self._recorded: set[str] = set()
        self._stale: dict[str, Stale] = {}
        self._missing: dict[str, Asked] = {}

    def answer(self, body: Body, authorization: str | None) -> Answer:
        """The answer to a chat completion's body."""
        asked = asked_of(body)
        if entry := self._recording.get(asked.key):
            return self._exactly(entry)
        if self._upstream is not None:
            with self._lock_of(asked.key):
                entry = self._recording.get(asked.key)  # meanwhile it may have come to whoever asked first
                return self._exactly(entry) if entry else self._sent_on(self._upstream, asked, body, authorization)
        if entry := self._recording.stand_in(asked, body):
            with self._noting:
                self._stale[asked.key] = Stale(asked=asked, entry=entry)
            return self._told(entry)
        self._miss(asked)
        return told(404, f"no reply is recorded for {asked}, nor for its request, {asked.key}")

    def report(self) -> ReplayReport:
        """What was given so far, and what was not."""
        with self._noting:
            exact, recorded = self._exact - self._recorded, set(self._recorded)
            stale, missing = tuple(self._stale.values()), tuple(self._missing.values())
        entries = self._recording.entries
        used = exact | recorded | {each.entry.asked.key for each in stale}
        return ReplayReport(
            exact=tuple(entry for entry in entries if entry.asked.key in exact),
            stale=tuple(sorted(stale, key=lambda each: (*each.entry.order, each.asked.key))),
            missing=tuple(sorted(missing, key=lambda asked: (asked.role, asked.subject, asked.operation, asked.key))),
            unused=tuple(entry for entry in entries if entry.asked.key not in used),
            recorded=tuple(entry for entry in entries if entry.asked.key in recorded),
        )

    def _sent_on(self, upstream: Upstream, asked: Asked, body: Body, authorization: str | None) -> Answer:
        answer = upstream.send(untagged(body), authorization)
        entry = entry_of(asked, body, answer.body) if answer.good else None
        if entry is None:
            self._miss(asked)
            return answer
        self._recording.keep(entry)
        with self._noting:
            self._recorded.add(asked.key)
            self._missing.pop(asked.key, None)
        return self._told(entry)

    def _exactly(self, entry: Entry) -> Answer:
        with self._noting:
            self._exact.add(entry.asked.key)
        return self._told(entry)

    def _told(self, entry: Entry) -> Answer:
        return Answer(status=200, body=json.dumps(completion_of(entry, created=int(self._clock()))).encode())

    def _miss(self, asked: Asked) -> None:
        with self._noting:
            self._missing[asked.key] = asked

    def _lock_of(self, key: str) -> threading.Lock:
        with self._noting:
            return self._sending[key]
