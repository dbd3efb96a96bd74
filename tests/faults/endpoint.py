"""An OpenAI-compatible endpoint on this machine that fails in every way it is told to."""

from __future__ import annotations

import copy
import json
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from conversation import as_json, reply_to

HTTP = ("timeout", "rate limit", "broken", "overloaded", "reset", "cut body", "no completion")
SILENT = ("empty", "nothing", "refusal")
INVALID = (
    *("cut off", "truncated", "prose", "wrong types", "missing", "out of range", "invariant", "blank", "dangling"),
)
KINDS = (*HTTP, *SILENT, *INVALID)
STALL_S = 0.4
KILL = "|kill:"  # what follows it in a request's subject is a process, and dies of asking

_STATUS = {"rate limit": 429, "broken": 500, "overloaded": 503}


def spoilt(kind: str, operation: str, reply: dict[str, Any]) -> str:
    """A reply that cannot be used, as the words the model would give."""
    if kind == "cut off":  # whole, but the server says that it is not
        return as_json(reply)
    if kind == "truncated":
        return as_json(reply)[: len(as_json(reply)) // 2]
    if kind == "prose":
        return "Certainly! Here is what I found, in my own words."
    if kind == "missing":
        return "{}"
    if kind == "wrong types":
        return as_json({key: "three" if isinstance(value, list) else value for key, value in reply.items()})
    bad = copy.deepcopy(reply)
    _SPOILERS[operation.removeprefix("hindsight.")](kind, bad)
    return as_json(bad)


def _spoil_facts(kind: str, bad: dict[str, Any]) -> None:
    first, last = bad["facts"][0], bad["facts"][-1]
    changes: dict[str, dict[str, Any]] = {
        "out of range": {"messages": [99]},
        "invariant": {"start": "2024-05-03", "end": "2024-05-01"},
        "dangling": {"relations": [{"target": 99, "relation": "causes"}]},
    }
    last.update(changes.get(kind, {}))
    if kind == "blank":
        first["what"] = " "


def _spoil_observations(kind: str, bad: dict[str, Any]) -> None:
    observations = bad["observations"]
    changes: dict[str, dict[str, Any]] = {
        "out of range": {"facts": [99]},
        "invariant": {"text": observations[0]["text"]},
        "blank": {"text": ""},
        "dangling": {"facts": []},
    }
    observations[-1].update(changes[kind])


def _spoil_assessments(kind: str, bad: dict[str, Any]) -> None:
    if kind == "invariant":  # one opinion assessed twice
        bad["assessments"].append(bad["assessments"][0])
    changes: dict[str, dict[str, Any]] = {
        "out of range": {"number": 99},
        "blank": {"assessment": ""},
        "dangling": {"number": 0},
    }
    bad["assessments"][-1].update(changes.get(kind, {}))


def _spoil_reflection(kind: str, bad: dict[str, Any]) -> None:
    changes: dict[str, dict[str, Any]] = {"out of range": {"citations": [99]}, "blank": {"answer": " "}}
    bad.update(changes.get(kind, {}))
    of_opinion: dict[str, dict[str, Any]] = {"invariant": {"confidence": 1.5}, "dangling": {"rests_on": []}}
    bad["opinions"][0].update(of_opinion.get(kind, {}))


_SPOILERS = {
    "extract": _spoil_facts,
    "observe": _spoil_observations,
    "reinforce": _spoil_assessments,
    "reflect": _spoil_reflection,
}


class Endpoint:
    """Says how the next request for an operation and a subject fails (``faults``), and what it was given (``gave``)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.faults: dict[tuple[str, str], str] = {}
        self.gave: dict[tuple[str, str], str | None] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    said: Endpoint

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tags = body["metadata"]
        subject, _, victim = tags["subject"].partition(KILL)
        if victim:
            os.kill(int(victim), signal.SIGKILL)
        key = (tags["operation"], subject)
        reply = reply_to(*key, body["messages"][-1]["content"])
        fault = self.said.faults.pop(key, "")
        with suppress(BrokenPipeError, ConnectionResetError):
            self._answer(key, reply, fault)

    def _answer(self, key: tuple[str, str], reply: dict[str, Any], fault: str) -> None:
        self.said.gave[key] = None
        if fault == "timeout":
            time.sleep(STALL_S)
        if fault == "reset":
            self._reset()
        elif fault in _STATUS:
            self._send(json.dumps({"error": {"message": f"a fault: {fault}"}}).encode(), status=_STATUS[fault])
        elif fault == "no completion":
            self._send(b"<html>Bad gateway</html>", kind="text/html")
        elif fault == "cut body":
            self._send(completion(as_json(reply)), cut=True)
        else:
            self._send(self._completion(key, reply, fault))

    def _completion(self, key: tuple[str, str], reply: dict[str, Any], fault: str) -> bytes:
        if fault in SILENT:
            refusal = {"refusal": "I will not talk about dogs."} if fault == "refusal" else {}
            return completion("" if fault == "empty" else None, **refusal)
        words = spoilt(fault, key[0], reply) if fault in INVALID else as_json(reply)
        self.said.gave[key] = words
        return completion(words, finish="length" if fault == "cut off" else "stop")

    def _send(self, body: bytes, *, status: int = 200, kind: str = "application/json", cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self._reset()

    def _reset(self) -> None:
        """Hang up in the middle, without a farewell."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    handler = type("Handler", (_Handler,), {})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    handler.said = said = Endpoint(f"http://127.0.0.1:{http.server_port}/v1")
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield said
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def completion(text: str | None, *, finish: str = "stop", **message: object) -> bytes:
    value = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "faulty",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000},
    }
    return json.dumps(value).encode()
