"""Frameworks that would tell their makers what is done with them are told not to, before a test imports them."""

import atexit
import os
import shutil
import socket
import tempfile

import pytest

# Read once, when they are imported.
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="recollect-mem0-")
atexit.register(shutil.rmtree, os.environ["MEM0_DIR"], ignore_errors=True)
os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGGRAPH_STRICT_MSGPACK"):
    os.environ.pop(name, None)

_LOCAL = ("localhost", "127.0.0.1", "::1")


@pytest.fixture(autouse=True)
def _no_names_are_looked_up(monkeypatch):
    """An upload fails in the background, where no test would see it: the host that it looks up is what is seen."""
    sought, look = [], socket.getaddrinfo

    def looking(host, *args, **kwargs):
        if host is not None and host not in _LOCAL:
            sought.append(host)
        return look(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", looking)
    yield
    assert sought == []
