"""Estimate tokens where the tokenizer is not installed.

The tokenizer comes with wordllama, which has no wheel for some platforms. There, budgets are kept by an estimate: five
letters are a token, and so is each digit and sign. On English this is within a tenth of the tokenizer's count.
"""

from __future__ import annotations

import re

# A single blank belongs to the token after it, as it does for the tokenizer.
_TOKEN = re.compile(r"[A-Za-z]{1,5}|[\u0400-\u04ff]{1,2}|[^\S ]|  +|\S")
_TWO_TOKENS = "\u0800"  # what takes three bytes in UTF-8 is rare in the tokenizer's vocabulary
_FOUR_TOKENS = "\U00010000"


def estimate_token_starts(text: str) -> list[int]:
    """Return the character at which each token of a text begins; a character of several tokens stands several times."""
    starts: list[int] = []
    for match in _TOKEN.finditer(text):
        starts.extend([match.start()] * _tokens_of(match[0]))
    return starts


def _tokens_of(piece: str) -> int:
    first = piece[0]
    if first < _TWO_TOKENS:
        return 1
    return 2 if first < _FOUR_TOKENS else 4
