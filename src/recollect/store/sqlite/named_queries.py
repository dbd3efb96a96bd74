"""Named queries, read once from the files in ``load_queries``."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def load_queries() -> dict[str, str]:
    """Return every query by its name, from all files."""
    found: dict[str, str] = {}
    for script in _list_scripts("queries"):
        parts = _NAME.split(script.read_text("utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            assert name not in found, f"two queries have the name {name}"
            found[name] = body.strip().rstrip(";")
    return found


def get_query(name: str) -> str:
    return load_queries()[name]


def quote_phrase(words: str) -> str:
    """Return the full-text query for exactly these words, one after another."""
    return '"' + words.replace('"', '""').replace("\0", " ") + '"'


@cache
def load_migrations() -> tuple[tuple[str, str], ...]:
    """Return the name and the script of every migration, in the order in which they run."""
    return tuple(
        (script.name.removesuffix(".sql"), script.read_text("utf-8")) for script in _list_scripts("migrations")
    )


def _list_scripts(folder: str) -> list[Traversable]:
    """Return the SQL files of a folder next to this module, sorted by name."""
    found = files(__package__).joinpath(folder).iterdir()
    return sorted((file for file in found if file.name.endswith(".sql")), key=lambda file: file.name)
