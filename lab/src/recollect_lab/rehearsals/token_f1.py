"""Measure the overlap of an answer with the known answer: token F1, in the way of SQuAD and LoCoMo."""

from __future__ import annotations

import re
from collections import Counter

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WORD = re.compile(r"\w+")


def compute_token_f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall over words, from 0 to 1. Case, articles and punctuation do not
    count.
    """
    given, known = _count_words(answer), _count_words(gold)
    shared = sum((given & known).values())
    if not shared:
        return float(not given and not known)
    precision, recall = shared / sum(given.values()), shared / sum(known.values())
    return 2 * precision * recall / (precision + recall)


def _count_words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(_ARTICLES.sub(" ", text.lower())))
