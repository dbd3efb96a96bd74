"""A bank may have very many speakers: a new one costs little time and no memory."""

from __future__ import annotations

import random
import re
import tracemalloc
from collections.abc import Sequence

from recollect.recall.named_speakers import remove_speakers
from recollect.text.names import find_names

COUNT = 3_000
PIECES = [
    "Ada",
    "ada",
    "Ann",
    " ",
    "-",
    "‐",
    "'",
    "’",
    "s",
    "S",
    "x",
    "Mary",
    "_",
    "1",
    "田",
    "中",
    "é",
    "@",
    ".",
    "\n",
]


def by_one_pattern(speakers: Sequence[str], text: str) -> tuple[set[str], str]:
    """The same by one regular expression of all names, which nobody would build for many."""
    names = {name.strip() for name in speakers if any(map(str.isalnum, name))}
    if not names:
        return set(), " ".join(text.split())
    longest_first = "|".join(map(re.escape, sorted(names, key=lambda name: (-len(name), name))))
    pattern = re.compile(rf"(?<!\w)(?<!\w[-‐‑])({longest_first})(?:['’]s)?(?![-‐‑]?\w)", re.IGNORECASE)
    found = {match[1].lower() for match in pattern.finditer(text)}
    named = {name for name in speakers if name.strip().lower() in found}
    return named, re.sub(r"\s+", " ", pattern.sub(" ", text)).strip()


def test_names_are_found_as_one_pattern_of_all_names_would_find_them() -> None:
    seeded = random.Random(5)
    for _ in range(3_000):
        speakers = ["".join(seeded.choices(PIECES, k=seeded.randint(1, 4))) for _ in range(seeded.randint(1, 4))]
        text = "".join(seeded.choices(PIECES, k=seeded.randint(1, 14)))
        named, topic = remove_speakers(speakers, text)
        assert (set(named), topic) == by_one_pattern(speakers, text), (speakers, text)


def test_the_index_of_a_bank_is_extended_by_its_new_speakers() -> None:
    speakers = tuple(f"Person{n} Name{n}" for n in range(50))
    for count in range(1, 51):
        named, topic = remove_speakers(speakers[:count], f"Did Person{count - 1} Name{count - 1} meet Person50 Name50?")
        assert (named, topic) == ((speakers[count - 1],), "Did meet Person50 Name50?")
    assert remove_speakers(("Toby",), "Did Person1 Name1 meet Toby?")[0] == ("Toby",)


def test_new_speakers_keep_no_memory() -> None:
    speakers = [f"Person{n} Name{n}" for n in range(COUNT)]

    def read_with(new: int) -> None:
        known = [*speakers, *(f"user{n}" for n in range(new))]
        remove_speakers(known, "hello Person7 Name7")
        find_names("hello user1", frozenset(known))

    for new in range(20):
        read_with(new)
    tracemalloc.start()
    for new in range(20, 40):
        read_with(new)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 16 * COUNT * 200  # what eight indexes of each kind hold, and not forty
