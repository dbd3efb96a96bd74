"""An OpenAI-compatible server on this machine, whose answers a test lays out beforehand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, kw_only=True)
class Said:
    """One HTTP answer. ``before`` is called before it is sent, ``between`` between its two halves; both may block."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], object] | None = None
    between: Callable[[], object] | None = None
    kind: str = "application/json"


def completion(text: str | None, *, finish: str = "stop", usage: dict | None = None, **message: object) -> Said:
    """A chat completion with a text."""
    used = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} if usage is None else usage
    value = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "desk",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    return Said(body=json.dumps({**value, "usage": used} if used else value).encode())


def problem(status: int, words: str, **headers: str) -> Said:
    """An error as OpenAI tells it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Said(status=status, body=json.dumps({"error": {"message": words}}).encode(), headers=named)


def events(
    pieces: Sequence[str],
    *,
    finish: str | None = "stop",
    usage: bool = True,
    between: Callable[[], object] | None = None,
) -> Said:
    """A stream of pieces; without ``finish`` the connection ends in the middle."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "desk"}
    chunks: list[dict] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
    lines = [f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks]
    if finish:
        lines.append("data: [DONE]\n\n")
    return Said(body="".join(lines).encode(), kind="text/event-stream", between=between)


class LanguageServer:
    """Gives its answers in turn, the last one again and again; ``requests`` holds what it was asked.

    ``answer`` may decide by the request instead. ``most`` is how many requests were under way at once.
    ``on_hang`` is called whenever a request begins to hang.
    """

    def __init__(self) -> None:
        self.requests: list[dict] = []
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[Said] = []
        self.answer: Callable[[dict], Said] | None = None
        self.on_hang: Callable[[], object] = lambda: None
        self.closing = threading.Event()
        self.most = 0
        self._under_way = 0
        self._lock = threading.Lock()
        self.url = ""

    def hang(self) -> None:
        """Block until the server closes: a ``before`` or ``between`` of an answer that never comes."""
        self.on_hang()
        self.closing.wait()

    def take(self, raw: bytes, headers: dict[str, str]) -> Said:
        body = json.loads(raw)
        with self._lock:
            self.raw.append(raw)
            self.requests.append(body)
            self.headers.append(headers)
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            if self.answer is not None:
                said = self.answer(body)
            else:
                said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if said.before is not None:
            said.before()
        with self._lock:
            self._under_way -= 1
        return said


@contextmanager
def language_server() -> Iterator[LanguageServer]:
    server = LanguageServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            said = server.take(raw, {name.lower(): value for name, value in self.headers.items()})
            try:
                self.send_response(said.status)
                self.send_header("Content-Type", said.kind)
                self.send_header("Content-Length", str(len(said.body)))
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                half = len(said.body) // 2 if said.between else len(said.body)
                self.wfile.write(said.body[:half])
                self.wfile.flush()
                if said.between is not None:
                    said.between()
                    self.wfile.write(said.body[half:])
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()
