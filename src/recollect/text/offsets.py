"""Find the character where a token of a text begins."""

from __future__ import annotations

from recollect._tokenizer import is_wordllama_installed, load_tokenizer, replace_surrogates
from recollect.text.estimated_tokens import estimate_token_starts
from recollect.text.tokens import PIECE_CHARACTERS, count_all, split_pieces


def find_token_offset(text: str, token: int) -> int:
    """Return the character at which a token begins. Tokens are those of :func:`recollect.text.tokens.count_tokens`,
    from 0.

    A character may be several tokens, as an emoji is. All these tokens begin at that character, so a cut there never
    splits it. A token number past the end gives the length of the text.

    Raises:
        ModelUnavailable: the tokenizer could not be loaded.
    """
    at, parts = 0, list(split_pieces(text))
    for part, count in zip(parts, count_all(parts), strict=True):
        if token < count:
            return at + _find_offset(part, token)
        token -= count
        # A piece below the maximum length ends at a blank, and this blank belongs to no piece.
        at += len(part) + (len(part) < PIECE_CHARACTERS)
    return len(text)


def _find_offset(piece: str, token: int) -> int:
    if not is_wordllama_installed():
        return estimate_token_starts(piece)[token]
    offsets = load_tokenizer().encode(replace_surrogates(piece), add_special_tokens=False).offsets
    return offsets[token][0]
