"""Open a memory as the attack does: without a model, with vectors of hashed words, and without background work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from recollect import Memory
from recollect.recipes import Recipe
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

DIMENSION = 64


def utc_now() -> datetime:
    return datetime.now(UTC)


def open_memory(
    folder: Path | str,
    *,
    dimension: int = DIMENSION,
    recipe: Recipe | str = "default",
    model: FunctionModel | None = None,
    clock: Callable[[], datetime] = utc_now,
    concurrency: int = 1,
) -> Memory:
    """Open a memory. Jobs are done only when the attack asks for it, so that a seed repeats the same operations."""
    return Memory.open(
        folder,
        embedder=HashEmbedder(dimension),
        recipe=recipe,
        model="none" if model is None else model,
        worker=WorkerSettings(automatic=False, concurrency=concurrency, attempts=1_000),
        clock=clock,
    )
