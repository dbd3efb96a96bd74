"""The composition root: the only room that names concrete parts and reads settings."""

from recollect.app.memory import Memory, open_memory
from recollect.app.models import language_model, model_named, rehearsed_model
from recollect.app.parts import EMBEDDERS, RERANKERS, embedder_named, ready, recipe_of, reranker_named
from recollect.app.settings import ModelSpec, Settings, settings_from

__all__ = [
    "EMBEDDERS",
    "RERANKERS",
    "Memory",
    "ModelSpec",
    "Settings",
    "embedder_named",
    "language_model",
    "model_named",
    "open_memory",
    "ready",
    "recipe_of",
    "rehearsed_model",
    "reranker_named",
    "settings_from",
]
