"""Serve a recording as an endpoint. Without a model, the real adapter talks to it over real HTTP."""

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
    """An OpenAI-compatible endpoint that only this machine can reach, until the context ends.

    It answers ``POST /chat/completions`` with :class:`~recollect_lab.recordings.replay.Replay`. A request has its place
    in the tags ``{"metadata": {"role": .., "operation": .., "subject": ..}}``.

    Args:
        recording: the recording to read from and to add replies to.
        upstream: the endpoint for requests that are not recorded, as an address or an ``Upstream``. It is optional.
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
        """Return the base URL for a client. It ends before ``/chat/completions``."""
        assert self._server is not None, "a replay server has an address inside its context only"
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def report(self) -> ReplayReport:
        """Return a report on the replies so far, and on those that were missing."""
        return self._replay.report()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a thread may still wait for the upstream when the run ends
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
        """Log nothing, because a request contains memory."""

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
            return make_error_answer(400, "the body is not JSON")
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            return make_error_answer(400, "the body is not a chat completion request: it has no list of messages")
        if body.get("stream"):
            return make_error_answer(400, "a replay does not stream; send the request without stream")
        try:
            return self._answering(body, self.headers.get("Authorization"))
        except Exception as exc:  # such as a full disk: the client must get an answer
            return make_error_answer(500, f"the replay failed: {type(exc).__name__}: {exc}")

    def _send(self, answer: HttpAnswer) -> None:
        try:
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            if answer.retry_after is not None:
                self.send_header("Retry-After", answer.retry_after)
            self.send_header("Connection", "close")  # otherwise a thread would wait for a second request
            self.end_headers()
            self.wfile.write(answer.body)
        except OSError:  # the client has gone, but the late reply is recorded anyway
            self.close_connection = True
