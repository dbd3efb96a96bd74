"""Every function that reads users' text takes a time that is linear in its length, whatever the text is.

The functions of the rooms below are collected from their modules, so that a new one cannot be forgotten: a public
function with a parameter of type ``str`` is fed with hostile texts. The test compares the processor time for a text
and for one four times as long. It has a wide margin, and measures again before it fails.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, tzinfo
from importlib import import_module
from itertools import count
from pkgutil import walk_packages
from typing import Any, Final, get_type_hints

import pytest
from hostile_texts import HOSTILE

import recollect.formats
import recollect.recall
import recollect.retain
import recollect.text
from recollect._unicode import normalize_unicode
from recollect.domain.limits import parse_limits
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.queries import Query
from recollect.domain.triples import fold_phrase
from recollect.errors import InvalidInput
from recollect.formats import read_messages
from recollect.methods.emem.quotes import FoldedText
from recollect.methods.hindsight.background import rewrite_in_first_person
from recollect.methods.hindsight.opinions import is_in_first_person, make_opinion_id
from recollect.methods.recmem.salience import find_salience
from recollect.models.languages.replies import ReplyMistake, parse_answer
from recollect.recall.analyze import parse_question
from recollect.recall.time_reading import has_unread_time
from recollect.retain.directory import list_blocks
from recollect.retain.extract import extract_turn
from recollect.retain.extractive_summary import extract_summary
from recollect.retain.name_similarity import ResolveSettings
from recollect.retain.segments import Segment, count_line_tokens
from recollect.retain.turns import group_turns
from recollect.store.names import name_key
from recollect.text.quotes import Quotes, make_quotes

ROOMS: Final = (recollect.text, recollect.retain, recollect.recall, recollect.formats)
NOW: Final = datetime(2023, 7, 11, 18, 5, tzinfo=UTC)
PEOPLE: Final = ("Ada", "ada99", "田中", "a", "Mary-Ann", "a a a", "“Ada”", "the", "1 2 3")

# These take no text of a user: their strings are words that other functions have found.
EXEMPT: Final = {"choose_candidates", "make_summary_item", "rerank_items"}

FIRST, LAST, TIMES = 2_000, 2_000, 4  # characters; a longer text has so many times as many
ENOUGH_S: Final = 0.003  # a shorter time says little
MARGIN: Final = 2.2  # times as long as linear, because of caches of the processor and other programs


def make_message(text: str) -> StoredMessage:
    return StoredMessage(
        id="m", session="s", position=0, speaker="Ada", role=Role.USER, text=text, captions=(), at=NOW, recorded=NOW
    )


ARGUMENTS: Final[dict[Any, Callable[[str], object]]] = {
    str: lambda text: text,
    int: lambda text: 7,
    int | None: lambda text: None,
    bool: lambda text: True,
    datetime: lambda text: NOW,
    date: lambda text: NOW.date(),
    tzinfo | None: lambda text: UTC,
    frozenset[str]: lambda text: frozenset({"der", "vor", "el", "hace"}),
    Collection[str]: lambda text: frozenset(PEOPLE),
    Sequence[str]: lambda text: PEOPLE,
    Container[str]: lambda text: frozenset({"toby"}),
    Iterable[str]: lambda text: [*PEOPLE, text[1:] + "x", text[:-1] + " b"],
    Sequence[StoredMessage]: lambda text: [make_message(text[1:] + "xx" + text[::-1])],
    ResolveSettings: lambda text: ResolveSettings(),
    Quotes: lambda text: make_quotes([text[:40]]),
    Callable[[str], InvalidInput]: lambda text: InvalidInput,
}

Reader = Callable[[str], object]


def list_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions of the rooms that take a string, by their names."""
    for room in ROOMS:
        for found in walk_packages(room.__path__, f"{room.__name__}."):
            module = import_module(found.name)
            for name, member in vars(module).items():
                own = getattr(member, "__module__", None) == module.__name__
                if own and not name.startswith("_") and callable(member) and not inspect.isclass(member):
                    function = inspect.unwrap(member)
                    if name not in EXEMPT and str in list_parameters(function).values():
                        yield f"{found.name.removeprefix('recollect.')}.{name}", function


def list_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(function).items() if name != "return"}


def make_reader(function: Callable[..., Any]) -> Reader:
    """Return a call of a function with hostile text in each of its strings."""
    hints = list_parameters(function)
    unknown = {name: hint for name, hint in hints.items() if hint not in ARGUMENTS}
    assert not unknown, f"say in ARGUMENTS how {function.__qualname__} is called: {unknown}"
    starred = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_POSITIONAL}

    def read(text: str) -> object:
        given = {name: ARGUMENTS[hint](text) for name, hint in hints.items() if name not in starred}
        return function(*(text for _ in starred)) if starred == set(hints) else function(**given)

    return read


def _extract(text: str) -> object:
    turns = group_turns([make_message(text)], last=None)
    return [extract_turn(turn, frozenset(), frozenset(PEOPLE)) for turn in turns]


OTHERS: Final[dict[str, Reader]] = {
    "normalize_unicode": lambda text: [normalize_unicode(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")],
    "parse_question": lambda text: parse_question(Query(text=text, now=NOW), PEOPLE),
    "has_unread_time": lambda text: has_unread_time(Query(text=text, now=NOW)),
    "list_blocks": lambda text: list_blocks([text]),
    "extract_turn": _extract,
    "extract_summary": lambda text: extract_summary(
        Segment(number=0, first="m", start=0, last="m", end=9_000_000), [make_message(text)], frozenset()
    ),
    "count_line_tokens": lambda text: count_line_tokens([make_message(text)]),
    "find_salience": find_salience,
    "rewrite_in_first_person": rewrite_in_first_person,
    "is_in_first_person": is_in_first_person,
    "make_opinion_id": make_opinion_id,
    "find_span": lambda text: FoldedText(text).find_span(text[5:]),
    "parse_answer": lambda text: parse_answer(text, Query, None),
    "fold_phrase": fold_phrase,
    "parse_limits": parse_limits,
    "name_key": name_key,
    "read_messages": lambda text: list(read_messages(text.splitlines(keepends=True), now=NOW, zone=UTC)),
}
READERS: Final = {name: make_reader(function) for name, function in list_functions()} | OTHERS


def measure(read: Reader, text: str) -> float:
    """Return the seconds of processor time that a call takes. An error is an answer too."""
    began = time.thread_time()
    try:
        found = read(text)
        if isinstance(found, Iterator):
            list(found)
    except (ValueError, KeyError, OverflowError, RecursionError, ReplyMistake):
        pass
    return time.thread_time() - began


_NUMBERS = count()


def measure_growth(read: Reader, write: Callable[[int], str], tries: int) -> float:
    """Return how many times as long a text takes that is four times as long. Each measured text is a new one, as
    functions remember texts.
    """
    size = FIRST
    measure(read, write(size))  # what is loaded and compiled once does not count
    while measure(read, write(size)) < ENOUGH_S and size < LAST:
        size *= TIMES
    short = min(measure(read, f"{write(size)} {next(_NUMBERS)}") for _ in range(tries))
    long = min(measure(read, f"{write(size * TIMES)} {next(_NUMBERS)}") for _ in range(tries))
    return long / max(short, ENOUGH_S / TIMES)


@pytest.mark.parametrize("name", READERS)
def test_the_time_of_a_text_grows_with_its_length(name: str) -> None:
    read = READERS[name]
    slow = {text for text, write in HOSTILE.items() if measure_growth(read, write, 1) > MARGIN * TIMES}
    worse = {text: growth for text in slow if (growth := measure_growth(read, HOSTILE[text], 4)) > MARGIN * TIMES}
    assert not worse, "these texts take more than linear time"


def test_a_function_that_is_worse_than_linear_is_found() -> None:
    """Cubic, since the measured growth of a quadratic one comes near the margin on a machine that changes its speed."""

    def read(text: str) -> object:
        return re.findall("«([^»]*)([^»]*)»", text)

    assert measure_growth(read, lambda length: "«" * (length // 20), 4) > MARGIN * TIMES
