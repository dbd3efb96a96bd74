"""Servers that are slow or lie: every call ends in time, with a result or with an error of the library's own tree."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.attack.material import make_said
from benchmarks.attack.processes import Tell, Work, run_children
from benchmarks.attack.scenario import Broken, Budget, Finding, Tally
from recollect import Memory
from recollect.errors import RecollectError
from recollect.models.embedders.endpoint import EndpointEmbedder
from recollect.worker import WorkerSettings

_DIMENSION = 8
_TIMEOUT_S = 0.5
_CALL_BOUND_S = 10.0
_DRIP_S = 25.0
_PROCESS_BOUND_S = 120.0


class Servers:
    """An embedding endpoint that drips, stops in the middle, or returns what nobody asked for."""

    name = "servers"
    share = Budget(operations=1)

    def run(self, seed: int, budget: Budget, folder: Path) -> Tally:
        rng, tally = random.Random(seed), Tally()
        while tally.operations < budget.operations:
            session = _Session(seed=rng.randrange(2**32), folder=folder / f"{rng.randrange(2**32)}")
            (outcome,) = run_children([Work(do=session.do)], bound_s=_PROCESS_BOUND_S)
            findings = outcome.findings(session.seed)
            for broken in Broken:
                findings += [
                    Finding(broken=broken, seed=session.seed, what=what) for what in outcome.values(broken.value)
                ]
            tally += Tally(operations=len(outcome.values("done")), findings=tuple(findings))
            if not outcome.values("done"):
                break
        return tally


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """Calls a bank while its endpoint behaves badly in every way, in a random order, and well in between."""

    seed: int
    folder: Path

    def do(self, tell: Tell) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        asyncio.run(self._do(f"http://127.0.0.1:{server.server_port}/v1", tell))

    async def _do(self, url: str, tell: Tell) -> None:
        rng = random.Random(self.seed)
        embedder = EndpointEmbedder("m", url, dimension=_DIMENSION, timeout=_TIMEOUT_S, retries=1)
        acknowledged: dict[str, str] = {}
        memory = Memory.open(self.folder, embedder=embedder, model="none", worker=WorkerSettings(automatic=False))
        async with memory:
            bank = await memory.bank("b")

            async def retain() -> None:
                said = make_said(rng, "k-0")
                await bank.retain(said.to_message(), session="k-0")
                acknowledged[said.id] = said.text

            async def recall() -> None:
                await bank.recall("Who saw the river?")

            async def rebuild() -> None:
                await bank.rebuild()

            async def forget() -> None:
                if acknowledged:
                    gone = rng.choice(sorted(acknowledged))
                    await bank.forget(messages=gone)
                    del acknowledged[gone]

            for name in rng.sample(sorted(_BEHAVIOURS), len(_BEHAVIOURS)):
                for behaviour in (name, "well"):
                    _Handler.behave = _BEHAVIOURS.get(behaviour, _answer_well)
                    for call in (retain, recall, retain, forget, rebuild):
                        await _call(f"{call.__name__} while the endpoint does {behaviour!r}", call, tell)
                there = {one.id: one.text for one in await bank.messages()}
                if there != acknowledged:
                    tell(Broken.LOST.value, f"after {name!r}: {len(there)} messages of {len(acknowledged)}")


async def _call(what: str, call: Callable[[], Any], tell: Tell) -> None:
    began = time.monotonic()
    try:
        await call()
    except RecollectError:
        pass
    except Exception as exc:
        tell(Broken.TRACEBACKS.value, f"{what}: {''.join(traceback.format_exception(exc))[-1500:]}")
    if (seconds := time.monotonic() - began) > _CALL_BOUND_S:
        tell(Broken.STUCK.value, f"{what}: {seconds:.0f} s with a timeout of {_TIMEOUT_S} s")
    tell("done", None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behave: Callable[[_Handler, list[str]], None]

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        with suppress(OSError):
            type(self).behave(self, texts)

    def send_body(self, body: bytes, *, status: int = 200, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


def _vectors(texts: list[str], dimension: int = _DIMENSION) -> list[list[float]]:
    return [[float(len(text) % (at + 2)) + 1.0 for at in range(dimension)] for text in texts]


def _body(vectors: list[Any]) -> bytes:
    return json.dumps({"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}).encode()


def _answer_well(handler: _Handler, texts: list[str]) -> None:
    handler.send_body(_body(_vectors(texts)))


def _drip(handler: _Handler, texts: list[str]) -> None:
    handler.send_body(b"", length=10**6)
    end = time.monotonic() + _DRIP_S
    while time.monotonic() < end:
        handler.wfile.write(b" ")
        time.sleep(_TIMEOUT_S / 5)


def _stop_in_the_middle(handler: _Handler, texts: list[str]) -> None:
    body = _body(_vectors(texts))
    handler.send_body(body[: len(body) // 2], length=len(body))
    handler.close_connection = True


def _wait(handler: _Handler, texts: list[str]) -> None:
    time.sleep(_TIMEOUT_S * 3)


def _sends(body: Callable[[list[str]], bytes], status: int = 200) -> Callable[[_Handler, list[str]], None]:
    return lambda handler, texts: handler.send_body(body(texts), status=status)


_BEHAVIOURS: dict[str, Callable[[_Handler, list[str]], None]] = {
    "drip": _drip,
    "stop in the middle": _stop_in_the_middle,
    "wait": _wait,
    "500": _sends(lambda _: b'{"error": "broken"}', 500),
    "429": _sends(lambda _: b"{}", 429),
    "401": _sends(lambda _: b"<html>no</html>", 401),
    "no JSON": _sends(lambda _: b"<html>Bad gateway</html>"),
    "other JSON": _sends(lambda _: b'[1, {"data": null}]'),
    "null": _sends(lambda _: b"null"),
    "nested JSON": _sends(lambda _: b"[" * 100_000 + b"]" * 100_000),
    "no UTF-8": _sends(lambda _: b'{"data": "\xff\xfe"}'),
    "nothing": _sends(lambda _: b""),
    "long vectors": _sends(lambda texts: _body(_vectors(texts, _DIMENSION + 1))),
    "short vectors": _sends(lambda texts: _body(_vectors(texts, 1))),
    "empty vectors": _sends(lambda texts: _body([[] for _ in texts])),
    "NaN": _sends(lambda texts: _body([[float("nan")] * _DIMENSION for _ in texts])),
    "infinity": _sends(lambda texts: _body([[float("inf")] * _DIMENSION for _ in texts])),
    "huge numbers": _sends(lambda texts: _body([[1e308] * _DIMENSION for _ in texts])),
    "words": _sends(lambda texts: _body([["a"] * _DIMENSION for _ in texts])),
    "too few": _sends(lambda texts: _body(_vectors(texts)[1:])),
    "too many": _sends(lambda texts: _body(_vectors([*texts, "one more"]))),
}
