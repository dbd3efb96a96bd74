"""The tokenizer that is inside the wheel of wordllama. Both ``text`` and ``models`` import this module.

The files are found and read without importing wordllama. Importing it takes half a second, because it imports requests,
pydantic and its own clustering code. It also calls ``logging.basicConfig``, which a library must not do. Reading the
tokenizer itself takes well under a tenth of a second. Nothing is ever downloaded.
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
_BLANK = "▁"  # the tokenizer replaces a blank by this

_loading = threading.Lock()
_counts: dict[int, int] = {}  # by the hash of the text, so that no text is kept in memory
_words: dict[str, list[int]] = {}  # the tokens of known words


def is_wordllama_installed() -> bool:
    """Return true if wordllama is installed. It has no wheel for some platforms."""
    return _is_installed(PACKAGE)


@cache
def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def find_wordllama_folder() -> Path:
    """Return the folder of the installed wordllama package without importing it.

    Raises:
        ModelUnavailable: wordllama is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            "wordllama, which contains the default tokenizer and embedder, is missing. Run: pip install recollect"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def load_tokenizer() -> Tokenizer:
    """Return the Llama 2 tokenizer of wordllama. It is read once in a process and shared, so do not change its
    settings.

    It neither pads nor truncates. Several threads can encode with it.

    Raises:
        ModelUnavailable: the package or its file is missing or cannot be read.
    """
    with _loading:
        return _read_tokenizer()


@cache
def _read_tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer  # imported here, because it takes 25 ms

    path = find_wordllama_folder() / TOKENIZER_FILE
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as exc:  # tokenizers raises a plain Exception for any file that it cannot read
        raise ModelUnavailable(f"no tokenizer can be read from {path} ({exc}); reinstall wordllama") from exc
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(texts: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each text as a list of numbers, without special tokens.

    A text is encoded word by word, and known words are looked up. This is ten times as fast as the tokenizer, and the
    result is the same. All texts are in memory at the same time, so pass a batch of :func:`batches`.

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
    """Return the words of a text, or the whole text if its words cannot be encoded separately.

    No token of the vocabulary continues after a blank, so a single blank separates tokens. A run of blanks may be one
    token. The marks of special tokens ("<s>") cannot be encoded like other words.
    """
    return text.split(" ") if has_separable_words(text) else [text]


def has_separable_words(text: str) -> bool:
    """Return true if the words of a text can be encoded separately.

    If two such texts are joined by a blank, the tokens are those of the first and then those of the second. A line end
    is always its own token.
    """
    if not text or "  " in text or "<" in text or _BLANK in text:
        return False
    return text[0] != " " and text[-1] != " "


def _encode_pieces(pieces: set[str]) -> dict[str, list[int]]:
    """Return a mapping with the tokens of these pieces, and of others. Short pieces are remembered."""
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
    """Return the number of tokens of a text that was encoded lately, or ``None``.

    Texts are counted right after they are embedded, so most counts are known.
    """
    return _counts.get(hash(text))


def replace_surrogates(text: str) -> str:
    """Return the text with "?" for every lone surrogate. JSON may contain them, but tokenizers and UTF-8 do not accept
    them.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def split_batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield texts, in order, in batches of at most 1,024 texts and a million characters, so that memory use is
    bounded.
    """
    start = characters = 0
    for end, text in enumerate(texts):
        if end - start == BATCH_TEXTS or characters + len(text) > BATCH_CHARACTERS:
            if end > start:
                yield texts[start:end]
            start, characters = end, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]
