"""For every test, the laboratory's too: a scrubbed environment and no network."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # how long an example takes says more of the machine than of us
settings.load_profile("untimed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked `slow` run only where they are asked for by name."""
    if "slow" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: run by `make test-slow`"))


_LOCAL = ("127.", "::1", "localhost")
_connect, _connect_ex = socket.socket.connect, socket.socket.connect_ex


@pytest.fixture(autouse=True)
def _scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine's reaches a test, and no test reaches the network."""
    for name in os.environ:
        if name.startswith("RECOLLECT_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(socket.socket, "connect", _guarded(_connect))
    monkeypatch.setattr(socket.socket, "connect_ex", _guarded(_connect_ex))


@pytest.fixture(autouse=True)
def _closed_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the SQLite connections that a test leaves open. Python 3.13 warns of each that is never closed."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*args, **kwargs):  # type: ignore[no-untyped-def]
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    yield
    for connection in opened:
        with suppress(sqlite3.ProgrammingError):  # it belongs to another thread
            connection.close()


def _guarded(connect):  # type: ignore[no-untyped-def]
    def guarded(self, address):  # type: ignore[no-untyped-def]
        if self.family != socket.AF_UNIX and not str(address[0]).startswith(_LOCAL):
            raise AssertionError(f"a test reached for the network: {address}")
        return connect(self, address)

    return guarded
