"""Tiny recordings, a client, and an endpoint to record from."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from recollect_lab.recordings import RecordedReply
from recollect_lab.recordings.recorded_reply import read_request_key, select_kept

PLACE = ("extract", "hindsight.extract", "2023-07-11")


def tags(place=PLACE):
    return dict(zip(("role", "operation", "subject"), place, strict=True))


def body_of(text="Who adopted Toby?", *, place=PLACE, **more):
    """A chat completion's body; without tags where ``place`` is None."""
    told = {} if place is None else {"metadata": tags(place)}
    return {"model": "m", "messages": [{"role": "user", "content": text}], **told, **more}


def entry(text="Who adopted Toby?", reply="Ada.", *, place=PLACE, **more):
    body = body_of(text, place=place)
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return RecordedReply(
        asked=read_request_key(body), model="m", request=select_kept(body), reply=reply, usage=usage, **more
    )


@dataclass
class Told:
    status: int
    body: object
    headers: dict

    @property
    def text(self):
        return self.body["choices"][0]["message"]["content"]

    @property
    def problem(self):
        return self.body["error"]["message"]


def post(base_url, body, *, path="/chat/completions", **headers):
    """Ask an endpoint, by nothing but the standard library."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        base_url + path, data=data, headers={"Content-Type": "application/json", **headers}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as response:
            return Told(response.status, json.loads(response.read()), dict(response.headers))
    except urllib.error.HTTPError as exc:
        with exc:
            return Told(exc.code, json.loads(exc.read()), dict(exc.headers))


@dataclass
class Elsewhere:
    """An endpoint with a model: tells the number of the call, or what ``answer`` gives as (status, body, headers)."""

    answer: object = None
    asked: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    base_url: str = ""

    def __post_init__(self):
        self.gate.set()

    def reply(self, body, headers):
        self.asked.append(body)
        self.headers.append(headers)
        number = len(self.asked)
        assert self.gate.wait(30)
        return self.answer(number) if self.answer else (200, completion(f"reply {number}"), {})


def completion(content, *, finish="stop", **message):
    return {
        "model": "theirs",
        "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    }


@contextmanager
def served(elsewhere):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer, headers = elsewhere.reply(body, dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    elsewhere.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield elsewhere
    finally:
        elsewhere.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
