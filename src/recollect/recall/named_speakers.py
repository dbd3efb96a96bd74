"""Find the speakers of a bank that a question names."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.text.name_index import LONGEST_NAME, NameIndex, Words

_GENERIC: Final = frozenset({"user", "assistant", "system", "tool", "human", "ai"})
_WORD: Final = re.compile(r"\w+|\W")
_BLANKS: Final = re.compile(r"\s+")
_HYPHENS: Final = frozenset("-‐‑")
_APOSTROPHES: Final = frozenset("'’")


def remove_speakers(speakers: Sequence[str], text: str) -> tuple[tuple[str, ...], str]:
    """Return the speakers that a text names, and the text without them.

    If one name contains another, the longer one counts. A name within a compound ("Mary-Ann") belongs to somebody else.
    The time is linear in the text, however many speakers there are.
    """
    named: set[str] = set()
    kept: list[str] = []
    after = 0
    for names, start, end in _find_named(text, _index_speakers(tuple(speakers))):
        named.update(names)
        kept.append(text[after:start])
        after = end
    topic = " ".join((*kept, text[after:]))
    return tuple(speaker for speaker in speakers if speaker in named) if named else (), _BLANKS.sub(" ", topic).strip()


_recent: Final[deque[tuple[tuple[str, ...], NameIndex]]] = deque(maxlen=8)  # few: a bank may have many speakers


def _index_speakers(speakers: tuple[str, ...]) -> NameIndex:
    """Return the index of a bank's speakers. New speakers of a bank are added to the index that was used before."""
    known, index = max(
        (one for one in tuple(_recent) if one[0] == speakers[: len(one[0])]),
        key=lambda one: len(one[0]),
        default=((), NameIndex()),
    )
    if len(known) < len(speakers):
        index = index.extend((speaker, _split_name(speaker)) for speaker in speakers[len(known) :])
        _recent.append((speakers, index))
    return index


def _split_name(speaker: str) -> Words:
    """Return the words of a speaker's name. There are none if a question cannot name this speaker."""
    name = speaker.strip()
    if len(name) > LONGEST_NAME or name.casefold() in _GENERIC or not any(map(str.isalnum, name)):
        return ()
    return tuple(map(str.lower, _WORD.findall(name)))


def _find_named(text: str, index: NameIndex) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield the speakers at each place that names some, with the start and the end of the name and its possessive."""
    places = [found.span() for found in _WORD.finditer(text)]
    words = [text[start:end].lower() for start, end in places]
    after = 0
    for at in [at for at, word in enumerate(words) if word in index.lengths]:
        if at < after or _continues_word(words, at):
            continue
        for last, names in index.find_at(words, at):
            end = _find_end(words, last)
            if end is not None:
                yield names, places[at][0], places[end - 1][1]
                after = end
                break


def _continues_word(words: Sequence[str], at: int) -> bool:
    """Return true if the text before a place and the text at it are one word, such as "Mary-Ann"."""
    hyphen = at > 0 and words[at - 1] in _HYPHENS
    before = at - 1 - hyphen
    return before >= 0 and _is_word(words[before])


def _find_end(words: Sequence[str], at: int) -> int | None:
    """Return the end of a name, with a possessive 's. It is ``None`` if the word goes on after the name."""
    possessive = at + 1 < len(words) and words[at] in _APOSTROPHES and words[at + 1] == "s"
    if possessive and not _goes_on(words, at + 2):
        return at + 2
    return None if _goes_on(words, at) else at


def _goes_on(words: Sequence[str], at: int) -> bool:
    at += at < len(words) and words[at] in _HYPHENS
    return at < len(words) and _is_word(words[at])


def _is_word(word: str) -> bool:
    return word[0].isalnum() or word[0] == "_"
