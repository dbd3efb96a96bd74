"""The tokenizer that comes inside wordllama's wheel: a leaf that `text` and `models` both lean on.

The files are found and read without importing wordllama. Importing it takes half a second (it pulls in requests,
pydantic and its own clustering code) and calls ``logging.basicConfig``, which is not a library's business; the
tokenizer itself is read in well under a tenth. Nothing is ever downloaded.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
TOKENIZER_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
BATCH_TEXTS = 1024
BATCH_CHARACTERS = 1_000_000

MAX_CACHED_COUNTS = 4096
MAX_CACHED_WORDS = 32_768
MAX_WORD_CHARACTERS = 32
_BLANK = "▁"  # what the tokenizer puts for a blank

_loading = threading.Lock()
_counts: dict[int, int] = {}  # by hash, so that no text is held here
_words: dict[str, list[int]] = {}  # the tokens of words met before


def is_wordllama_installed() -> bool:
    """Return whether wordllama is installed: there are platforms for which it has no wheel."""
    return _is_installed(PACKAGE)


@cache
def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def find_wordllama_folder() -> Path:
    """The folder of the installed wordllama package, found without importing it.

    Raises:
        ModelUnavailable: wordllama is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            "wordllama, which carries the default tokenizer and embedder, is missing; run: pip install recollect"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def load_tokenizer() -> Tokenizer:
    """The Llama 2 tokenizer of wordllama, read once a process and shared: do not change its settings.

    It neither pads nor truncates, and encoding with it is thread-safe.

    Raises:
        ModelUnavailable: the package or its file is missing or cannot be read.
    """
    with _loading:
        return _read_tokenizer()


@cache
def _read_tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer  # 25 ms that only those who count or embed should pay

    path = find_wordllama_folder() / TOKENIZER_FILE
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as exc:  # tokenizers raises a bare Exception for any file that it cannot read
        raise ModelUnavailable(f"no tokenizer can be read from {path} ({exc}); reinstall wordllama") from exc
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(texts: Sequence[str]) -> list[list[int]]:
    """The tokens of texts as they are, special tokens not added: one list of numbers a text.

    A text is encoded word by word, and words that were met before are looked up: ten times as fast as the tokenizer,
    with the same result. All texts are held at once: hand in a batch of :func:`split_batches`.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    pieces = [_split_words(replace_surrogates(text)) for text in texts]
    tokens = _encode_pieces(set[str]().union(*pieces))
    encoded = [list(chain.from_iterable(map(tokens.__getitem__, found))) for found in pieces]
    if len(_counts) > MAX_CACHED_COUNTS:
        _counts.clear()
    _counts.update(zip(map(hash, texts), map(len, encoded), strict=True))
    return encoded


def _split_words(text: str) -> list[str]:
    """A text's words, or the text itself where those cannot be encoded apart.

    No token of the vocabulary goes on behind a blank, so that a single one parts tokens; a run of blanks may be one.
    Nor are the marks of special tokens ("<s>") words like others.
    """
    return text.split(" ") if has_separable_words(text) else [text]


def has_separable_words(text: str) -> bool:
    """Whether a text's words can be encoded apart: the tokens of two such texts with a blank between are those of each.

    A line's end is a token of its own besides, whatever it stands behind.
    """
    if not text or "  " in text or "<" in text or _BLANK in text:
        return False
    return text[0] != " " and text[-1] != " "


def _encode_pieces(pieces: set[str]) -> dict[str, list[int]]:
    """The tokens of these pieces, and of others; short ones are remembered."""
    global _words
    known = _words
    fresh = [piece for piece in pieces if piece not in known]
    if not fresh:
        return known
    encodings = load_tokenizer().encode_batch_fast(fresh, add_special_tokens=False)
    made = dict(zip(fresh, (encoding.ids for encoding in encodings), strict=True))
    known.update((piece, tokens) for piece, tokens in made.items() if len(piece) <= MAX_WORD_CHARACTERS)
    if len(known) > MAX_CACHED_WORDS:
        _words = {}  # not cleared: other threads may be reading it
    return known | made if max(map(len, fresh)) > MAX_WORD_CHARACTERS else known


def find_cached_count(text: str) -> int | None:
    """How many tokens a text has, if it was encoded lately: what is embedded is counted right afterwards."""
    return _counts.get(hash(text))


def replace_surrogates(text: str) -> str:
    """The text with a "?" for every lone surrogate: JSON may carry them, tokenizers and UTF-8 do not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def split_batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut texts, in order, into runs of at most 1,024 texts and a million characters, so that memory is bounded."""
    start = characters = 0
    for end, text in enumerate(texts):
        if end - start == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS:
            if end > start:
                yield texts[start:end]
            start, characters = end, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]
