"""Find embedders, rerankers, time readers and recipes by their names."""

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
from recollect.models.keys import hide_credentials
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
    """Return the recipe of the settings, with the chosen arms.

    Raises:
        InvalidInput: there is no such recipe.
    """
    recipe = get_recipe(settings.recipe)
    if settings.arms is None:
        return recipe
    return replace(recipe, recall=replace(recipe.recall, arms=settings.arms))


async def connect_embedder(embedder: Embedder) -> Embedder:
    """Return the embedder after its dimension is known.

    Raises:
        ModelUnavailable: an endpoint could not be reached.
    """
    return await embedder.connect() if isinstance(embedder, EndpointEmbedder) else embedder


def build_embedder(name: str | None, *, api_key: str | None = None) -> Embedder:
    """Return an embedder by its name. Nothing is loaded or called yet. ``None`` means the default embedder.

    The name can be ``none``, or ``wordllama``, with ``-64`` or ``-128`` for smaller vectors. It can be
    ``st:all-MiniLM-L6-v2`` or ``st:./folder`` for a sentence-transformers model. It can be
    ``endpoint:bge-m3@http://localhost:8000/v1`` for an OpenAI-compatible endpoint.

    Raises:
        InvalidInput: the name has none of these forms.
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
    raise InvalidInput(f"there is no embedder {hide_credentials(name)!r}. Choose one of: {EMBEDDERS}")


def _default_embedder() -> str:
    """Return the name of the default embedder: ``wordllama``, or ``none`` if wordllama is not installed."""
    if is_wordllama_installed():
        return "wordllama"
    _warn_of_no_embedder()
    return NONE


@cache
def _warn_of_no_embedder() -> None:
    _log.warning(
        "wordllama is not installed (it has no wheel for some platforms): memory holds no vectors and is searched "
        "only by words, links and time. Choose an embedder, or choose the embedder none to accept this"
    )


def build_reranker(name: str, *, api_key: str | None = None) -> Reranker | None:
    """Return a reranker by its name, or ``None`` for ``none``. Nothing is loaded or called yet.

    The name can be ``st:`` with a model or a folder, or ``endpoint:`` with a model and an address, as in
    :func:`build_embedder`.

    Raises:
        InvalidInput: the name is not the name of a reranker.
    """
    if name == "none":
        return None
    if endpoint := _ENDPOINT.fullmatch(name):
        return EndpointReranker(endpoint["model"], endpoint["url"], api_key)
    if source := _parse_local_model(name):
        return CrossEncoderReranker(source)
    raise InvalidInput(f"there is no reranker {hide_credentials(name)!r}. Choose one of: {RERANKERS}")


def build_time_reader(name: str) -> TimeReader | OwnModel | None:
    """Return a time reader by its name, or ``None`` for ``none``.

    ``st:google/flan-t5-small`` and ``st:./folder`` are sequence-to-sequence models. ``"model"`` is returned unchanged.
    It means the memory's own language model.

    Raises:
        InvalidInput: the name has none of these forms.
    """
    if name == "none":
        return None
    if name == "model":
        return "model"
    if source := _parse_local_model(name):
        return Seq2SeqTimeReader(source)
    raise InvalidInput(f"there is no time reader {name!r}. Choose one of: {TIME_READERS}")


def _parse_local_model(name: str) -> str | Path | None:
    """Return the model after ``st:``. A name that looks like a path is a folder and not a name on the model hub."""
    source = name.removeprefix("st:")
    if source == name or not source:
        return None
    return Path(source).expanduser() if source.startswith((".", "/", "~")) else source
