"""A recording as an endpoint: what the real adapter talks to, over real HTTP, when there is no model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from recollect_lab.recordings.recorded_reply import Body
from recollect_lab.recordings.recording import Recording
from recollect_lab.recordings.replay import Replay
from recollect_lab.recordings.report import ReplayReport
from recollect_lab.recordings.upstream import HttpAnswer, Upstream, make_error_answer

_POLL_S = 0.05

AnswerRequest = Callable[[Body, "str | None"], HttpAnswer]


class ReplayServer:
    """An OpenAI-compatible endpoint on this machine alone, for as long as the context lasts.

    It answers ``POST /chat/completions`` as :class:`~recollect_lab.recordings.replay.Replay` says. A request tells its
    place by the tags ``{"metadata": {"role": .., "operation": .., "subject": ..}}``.

    Args:
        recording: where replies are, and are kept.
        upstream: who to ask for what is not recorded, an address or more; nobody where left out.
    """

    def __init__(self, recording: Recording, upstream: Upstream | str | None = None) -> None:
        sender = Upstream(base_url=upstream) if isinstance(upstream, str) else upstream
        self._replay = Replay(recording, sender, time.time)
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), partial(_Handler, self._replay.answer))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="recollect-replay", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        """What a client is told: it ends before ``/chat/completions``."""
        assert self._server is not None, "a replay server has an address inside its context only"
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def report(self) -> ReplayReport:
        """What was given so far, and what was not."""
        return self._replay.report()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # somebody may still be waiting for an upstream when the run is over
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, answering: AnswerRequest, *args: object) -> None:
        self._answering = answering
        super().__init__(*args)  # type: ignore[arg-type]

    def do_POST(self) -> None:
        self._send(self._answer())

    def do_GET(self) -> None:
        self._send(make_error_answer(404, f"a replay has no {self.path}; it answers POST /chat/completions"))

    def log_message(self, *_: object) -> None:
        """Nothing is logged: a request holds memory."""

    def _answer(self) -> HttpAnswer:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return make_error_answer(411, "a request needs its Content-Length")
        data = self.rfile.read(int(length))
        if not self.path.partition("?")[0].rstrip("/").endswith("/chat/completions"):
            return make_error_answer(404, f"a replay has no {self.path}; it answers POST /chat/completions")
        try:
            body = json.loads(data)
        except ValueError:
            return make_error_answer(400, "the body is no JSON")
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            return make_error_answer(400, "the body is no chat completion: it has no list of messages")
        if body.get("stream"):
            return make_error_answer(400, "a replay does not stream: replies are kept whole; ask without stream")
        try:
            return self._answering(body, self.headers.get("Authorization"))
        except Exception as exc:  # a full disk, say: the client must not be left waiting
            return make_error_answer(500, f"the replay broke: {type(exc).__name__}: {exc}")

    def _send(self, answer: HttpAnswer) -> None:
        try:
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            if answer.retry_after is not None:
                self.send_header("Retry-After", answer.retry_after)
            self.send_header("Connection", "close")  # so that no thread is left waiting for a second request
            self.end_headers()
            self.wfile.write(answer.body)
        except OSError:  # the client has gone; a reply that came too late for it is kept all the same
            self.close_connection = True
