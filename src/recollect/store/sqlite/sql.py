"""Named queries, read once from ``queries.sql``."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """Every query of ``queries.sql`` by its name."""
    parts = _NAME.split(files(__package__).joinpath("queries.sql").read_text("utf-8"))
    return dict(zip(parts[1::2], (body.strip().rstrip(";") for body in parts[2::2]), strict=True))


def query(name: str) -> str:
    return queries()[name]


def phrase(words: str) -> str:
    """Words as a full-text query for exactly these, one after another."""
    return '"' + words.replace('"', '""').replace("\0", " ") + '"'


@cache
def migrations() -> tuple[tuple[str, str], ...]:
    """Name and script of every migration, in the order in which they run."""
    folder = files(__package__).joinpath("migrations")
    scripts = sorted((entry.name, entry) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((name.removesuffix(".sql"), entry.read_text("utf-8")) for name, entry in scripts)
