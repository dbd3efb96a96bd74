"""Embedders, rerankers and recipes by their names."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from recollect._tokenizer import is_wordllama_installed
from recollect.app.settings import NONE, Settings
from recollect.errors import InvalidInput
from recollect.models.embedder import Embedder
from recollect.models.embedders.endpoint import EndpointEmbedder
from recollect.models.embedders.none import NoEmbedder
from recollect.models.embedders.sentence_transformers import SentenceTransformerEmbedder
from recollect.models.embedders.wordllama import WordLlamaEmbedder
from recollect.models.reranker import Reranker
from recollect.models.rerankers.cross_encoder import CrossEncoderReranker
from recollect.models.rerankers.endpoint import EndpointReranker
from recollect.models.time_reader import TimeReader
from recollect.models.time_readers.seq2seq import Seq2SeqTimeReader
from recollect.recipes import OwnModel, Recipe, get_recipe

_log = logging.getLogger(__name__)

EMBEDDERS = "none, wordllama, wordllama-128, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL"
TIME_READERS = "none, model or st:NAME_OR_FOLDER"
RERANKERS = "none, st:NAME_OR_FOLDER or endpoint:MODEL@BASE_URL"

_WORDLLAMA = re.compile(r"wordllama(?:-(?P<dimension>64|128|256))?")
_ENDPOINT = re.compile(r"endpoint:(?P<model>.+?)@(?P<url>https?://.+)")


def configure_recipe(settings: Settings) -> Recipe:
    """The recipe with the arms that were chosen.

    Raises:
        InvalidInput: there is no such recipe.
    """
    recipe = get_recipe(settings.recipe)
    if settings.arms is None:
        return recipe
    return replace(recipe, recall=replace(recipe.recall, arms=settings.arms))


async def connect_embedder(embedder: Embedder) -> Embedder:
    """The embedder, its dimension known.

    Raises:
        ModelUnavailable: an endpoint could not be reached.
    """
    return await embedder.connect() if isinstance(embedder, EndpointEmbedder) else embedder


def build_embedder(name: str | None, *, api_key: str | None = None) -> Embedder:
    """An embedder by its name; nothing is loaded or asked yet. ``None`` is for the default one.

    ``none``; ``wordllama``, with ``-64`` or ``-128`` for smaller vectors; ``st:all-MiniLM-L6-v2`` or ``st:./folder``; ``endpoint:bge-m3@http://localhost:8000/v1``.

    Raises:
        InvalidInput: the name is none of these.
    """
    name = _default_embedder() if name is None else name
    if name == NONE:
        return NoEmbedder()
    if words := _WORDLLAMA.fullmatch(name):
        return WordLlamaEmbedder(int(words["dimension"] or 256))
    if endpoint := _ENDPOINT.fullmatch(name):
        return EndpointEmbedder(endpoint["model"], endpoint["url"], api_key)
    if source := _parse_local_model(name):
        return SentenceTransformerEmbedder(source)
    raise InvalidInput(f"no embedder {name!r}; it is one of {EMBEDDERS}")


def _default_embedder() -> str:
    """The name of the embedder where none is chosen: wordllama, or ``none`` where wordllama is not installed."""
    if is_wordllama_installed():
        return "wordllama"
    _warn_of_no_embedder()
    return NONE


@cache
def _warn_of_no_embedder() -> None:
    _log.warning(
        "wordllama is not installed (it has no wheel for some platforms): memory holds no vectors and is searched by "
        "words, links and time alone; choose an embedder, or the embedder none to accept this"
    )


def build_reranker(name: str, *, api_key: str | None = None) -> Reranker | None:
    """A reranker by its name, as :func:`build_embedder`; ``None`` for ``none``.

    Raises:
        InvalidInput: the name is none of a reranker.
    """
    if name == "none":
        return None
    if endpoint := _ENDPOINT.fullmatch(name):
        return EndpointReranker(endpoint["model"], endpoint["url"], api_key)
    if source := _parse_local_model(name):
        return CrossEncoderReranker(source)
    raise InvalidInput(f"no reranker {name!r}; it is one of {RERANKERS}")


def build_time_reader(name: str) -> TimeReader | OwnModel | None:
    """What reads times: a sequence-to-sequence model, ``st:google/flan-t5-small`` or ``st:./folder``; ``"model"`` as it
    is, for the memory's own language model; ``None`` for ``none``.

    Raises:
        InvalidInput: the name is none of these.
    """
    if name == "none":
        return None
    if name == "model":
        return "model"
    if source := _parse_local_model(name):
        return Seq2SeqTimeReader(source)
    raise InvalidInput(f"no time reader {name!r}; it is one of {TIME_READERS}")


def _parse_local_model(name: str) -> str | Path | None:
    """What stands after ``st:``; a path where it is written as one, so that the model hub is not asked for it."""
    source = name.removeprefix("st:")
    if source == name or not source:
        return None
    return Path(source).expanduser() if source.startswith((".", "/", "~")) else source
