"""Answer requests from a recording, and count how each was answered."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable

from recollect_lab.recordings.completion import make_completion, parse_completion
from recollect_lab.recordings.recorded_reply import Body, RecordedReply, RequestKey, drop_tags, read_request_key
from recollect_lab.recordings.recording import Recording
from recollect_lab.recordings.report import ReplayReport, StaleReply
from recollect_lab.recordings.upstream import HttpAnswer, Upstream, make_error_answer


class Replay:
    """Returns the reply that was recorded for a request. Safe to share between threads.

    The reply to the exact request comes first. If there is none, the upstream is asked, and its reply is recorded.
    Without an upstream, the reply to another request with the same role, operation and subject is used, and counts as
    stale. If there is none either, the answer is 404. Errors of the upstream are returned and not recorded. If the same
    request comes twice at the same time, it is sent to the upstream once.

    Args:
        recording: the recording to read from and to add replies to.
        upstream: the endpoint for requests that are not recorded.
        clock: returns the present in seconds since 1970.
    """

    def __init__(self, recording: Recording, upstream: Upstream | None, clock: Callable[[], float]) -> None:
        self._recording, self._upstream, self._clock = recording, upstream, clock
        self._noting = threading.Lock()
        self._sending: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._exact: set[str] = set()
        self._recorded: set[str] = set()
        self._stale: dict[str, StaleReply] = {}
        self._missing: dict[str, RequestKey] = {}

    def answer(self, body: Body, authorization: str | None) -> HttpAnswer:
        """Return the answer to the body of a chat completion request."""
        asked = read_request_key(body)
        if entry := self._recording.get(asked.key):
            return self._answer_exactly(entry)
        if self._upstream is not None:
            with self._lock_of(asked.key):
                entry = self._recording.get(asked.key)  # another thread may have recorded it meanwhile
                return (
                    self._answer_exactly(entry) if entry else self._forward(self._upstream, asked, body, authorization)
                )
        if entry := self._recording.find_stand_in(asked, body):
            with self._noting:
                self._stale[asked.key] = StaleReply(asked=asked, entry=entry)
            return self._make_answer(entry)
        self._record_missing(asked)
        return make_error_answer(
            404, f"no reply is recorded for {asked} or for the exact request, with the key {asked.key}"
        )

    def report(self) -> ReplayReport:
        """Return a report on the replies so far, and on those that were missing."""
        with self._noting:
            exact, recorded = self._exact - self._recorded, set(self._recorded)
            stale, missing = tuple(self._stale.values()), tuple(self._missing.values())
        entries = self._recording.entries
        used = exact | recorded | {each.entry.asked.key for each in stale}
        return ReplayReport(
            exact=tuple(entry for entry in entries if entry.asked.key in exact),
            stale=tuple(sorted(stale, key=lambda each: (*each.entry.sort_key, each.asked.key))),
            missing=tuple(sorted(missing, key=lambda asked: (asked.role, asked.subject, asked.operation, asked.key))),
            unused=tuple(entry for entry in entries if entry.asked.key not in used),
            recorded=tuple(entry for entry in entries if entry.asked.key in recorded),
        )

    def _forward(self, upstream: Upstream, asked: RequestKey, body: Body, authorization: str | None) -> HttpAnswer:
        answer = upstream.send(drop_tags(body), authorization)
        entry = parse_completion(asked, body, answer.body) if answer.is_success else None
        if entry is None:
            self._record_missing(asked)
            return answer
        self._recording.add(entry)
        with self._noting:
            self._recorded.add(asked.key)
            self._missing.pop(asked.key, None)
        return self._make_answer(entry)

    def _answer_exactly(self, entry: RecordedReply) -> HttpAnswer:
        with self._noting:
            self._exact.add(entry.asked.key)
        return self._make_answer(entry)

    def _make_answer(self, entry: RecordedReply) -> HttpAnswer:
        return HttpAnswer(status=200, body=json.dumps(make_completion(entry, created=int(self._clock()))).encode())

    def _record_missing(self, asked: RequestKey) -> None:
        with self._noting:
            self._missing[asked.key] = asked

    def _lock_of(self, key: str) -> threading.Lock:
        with self._noting:
            return self._sending[key]
