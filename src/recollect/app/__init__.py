"""The composition root: the only room that chooses concrete parts and reads settings."""

from recollect.app.backends import (
    EMBEDDERS,
    RERANKERS,
    build_embedder,
    build_reranker,
    configure_recipe,
    connect_embedder,
)
from recollect.app.memory import Memory, open_memory
from recollect.app.models import build_language_model, build_model, build_rehearsal_model
from recollect.app.settings import ModelSpec, Settings, load_settings

__all__ = [
    "EMBEDDERS",
    "RERANKERS",
    "Memory",
    "ModelSpec",
    "Settings",
    "build_embedder",
    "build_language_model",
    "build_model",
    "build_rehearsal_model",
    "build_reranker",
    "configure_recipe",
    "connect_embedder",
    "load_settings",
    "open_memory",
]
