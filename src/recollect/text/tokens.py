"""Count the tokens of a text with the tokenizer that comes with wordllama.

A budget needs a count that is equal on every machine and needs no network. The tokenizer is that of Llama 2. Its
vocabulary is smaller than those of newer models, so it counts too many tokens rather than too few, and budgets hold.
Where wordllama is not installed, tokens are estimated (:mod:`recollect.text.estimated_tokens`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect._tokenizer import encode, find_cached_count, is_wordllama_installed, split_batches
from recollect.text.estimated_tokens import estimate_token_starts

PIECE_CHARACTERS = 8192


def count_tokens(text: str) -> int:
    """Count the tokens of one text; an empty text has 0.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    return count_all([text])[0]


def count_all(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text, in order.

    A text of more than 8,192 characters is cut into pieces at blanks, where tokens end anyway, so the count is the
    same. A piece without a blank may add a token or two to the count.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    if not is_wordllama_installed():
        return [len(estimate_token_starts(text)) for text in texts]
    lately = [find_cached_count(text) for text in texts]
    counts = [count or 0 for count in lately]
    owners: list[int] = []
    parts: list[str] = []
    for owner, text in enumerate(texts):
        if lately[owner] is not None:
            continue
        for piece in split_pieces(text):
            owners.append(owner)
            parts.append(piece)
    at = 0
    for batch in split_batches(parts):
        for tokens in encode(batch):
            counts[owners[at]] += len(tokens)
            at += 1
    return counts


def split_pieces(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Cut a text into pieces of at most ``size`` characters, at single blanks where possible.

    The blank at a cut is dropped, because the tokenizer puts one before every text.
    """
    start = 0
    while len(text) - start > size:
        cut = _find_single_blank(text, start, start + size)
        yield text[start:cut] if cut else text[start : start + size]
        start = cut + 1 if cut else start + size
    yield text[start:]


def _find_single_blank(text: str, start: int, end: int) -> int:
    """Return the last blank in ``text[start:end]`` without a blank beside it, or 0. A run of blanks is one token."""
    at = text.rfind(" ", start + 1, end)
    while at > 0 and " " in (text[at - 1], text[at + 1]):
        at = text.rfind(" ", start + 1, at)
    return max(at, 0)
