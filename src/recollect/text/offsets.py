"""Where a token of a text begins."""

from __future__ import annotations

from recollect._tokenizer import load_tokenizer, well_formed
from recollect.text.tokens import PIECE_CHARACTERS, count_all, pieces


def token_offset(text: str, token: int) -> int:
    """The character at which a token begins; tokens are those of :func:`recollect.text.tokens.count_tokens`, from 0.

    A character that is several tokens, such as an emoji, is where each of them begins: a cut there never parts it. The
    text's length where it has no such token.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    at, parts = 0, list(pieces(text))
    for part, count in zip(parts, count_all(parts), strict=True):
        if token < count:
            return at + _offset(part, token)
        token -= count
        # A piece that is shorter than the longest ends at a blank, which belongs to none.
        at += len(part) + (len(part) < PIECE_CHARACTERS)
    return len(text)


def _offset(piece: str, token: int) -> int:
    offsets = load_tokenizer().encode(well_formed(piece), add_special_tokens=False).offsets
    return offsets[token][0]
