"""Named queries, read once from the files in ``queries``."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """Every query by its name, whatever file it stands in."""
    found: dict[str, str] = {}
    for script in _scripts("queries"):
        parts = _NAME.split(script.read_text("utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            assert name not in found, f"two queries are called {name}"
            found[name] = body.strip().rstrip(";")
    return found


def query(name: str) -> str:
    return queries()[name]


def phrase(words: str) -> str:
    """Words as a full-text query for exactly these, one after another."""
    return '"' + words.replace('"', '""').replace("\0", " ") + '"'


@cache
def migrations() -> tuple[tuple[str, str], ...]:
    """Name and script of every migration, in the order in which they run."""
    return tuple((script.name.removesuffix(".sql"), script.read_text("utf-8")) for script in _scripts("migrations"))


def _scripts(folder: str) -> list[Traversable]:
    """The SQL files of a folder beside this module, by name."""
    found = files(__package__).joinpath(folder).iterdir()
    return sorted((file for file in found if file.name.endswith(".sql")), key=lambda file: file.name)
