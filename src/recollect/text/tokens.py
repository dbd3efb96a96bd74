"""How many tokens a text costs, by the tokenizer that ships with wordllama.

Budgets need a count that is the same everywhere and needs no network. The tokenizer is Llama 2's,
whose vocabulary is smaller than that of newer models: it rather counts too many than too few, so that a budget holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect._tokenizer import batches, encode, known_count

PIECE_CHARACTERS = 8192


def count_tokens(text: str) -> int:
    """Count the tokens of one text; an empty text has 0.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    return count_all([text])[0]


def count_all(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text, in order.

    Texts over 8,192 characters are counted in pieces cut at blanks, where tokens end anyway: the count is the same.
    Where a piece has no blank to cut at, a token or two may be counted more.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    lately = [known_count(text) for text in texts]
    counts = [count or 0 for count in lately]
    owners: list[int] = []
    parts: list[str] = []
    for owner, text in enumerate(texts):
        if lately[owner] is not None:
            continue
        for piece in pieces(text):
            owners.append(owner)
            parts.append(piece)
    at = 0
    for batch in batches(parts):
        for tokens in encode(batch):
            counts[owners[at]] += len(tokens)
            at += 1
    return counts


def pieces(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Cut a text into pieces of at most ``size`` characters, at single blanks where there are any.

    The blank cut at is dropped: the tokenizer puts one before every text that it is given.
    """
    start = 0
    while len(text) - start > size:
        cut = _single_blank(text, start, start + size)
        yield text[start:cut] if cut else text[start : start + size]
        start = cut + 1 if cut else start + size
    yield text[start:]


def _single_blank(text: str, start: int, end: int) -> int:
    """The last blank in ``text[start:end]`` with no blank on either side, or 0: a run of blanks is one token."""
    at = text.rfind(" ", start + 1, end)
    while at > 0 and " " in (text[at - 1], text[at + 1]):
        at = text.rfind(" ", start + 1, at)
    return max(at, 0)
