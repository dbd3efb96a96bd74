"""Statements that are structured already, read without a model (REMem, section 3.1).

"E92 was the R17 of E69 from 1980 to 1984." is a subject, a predicate, an object, and when that held; it needs no model
to be a triple. A text is taken only where all of it is such statements, one a line or sentence, and each gives its
time, or is of bare identifiers. Whatever may be read otherwise is left alone: it is for a model then.
"""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import Final

from recollect.domain.triples import Triple
from recollect.text.name_words import LINKS, STOP
from recollect.text.statement_times import Times, read_times, timed
from recollect.text.statement_words import ARTICLES, BE, IRREGULAR, NO_RELATION, PREPOSITIONS

_ID: Final = re.compile(r"[A-Za-z]{1,12}[_-]?\d+")
# No two branches may match the same dot: else a row of initials that is no name is tried in all ways that there are.
_NAME: Final = re.compile(
    r"[^\W\d_](?:[\w'’&-]|\.(?=.))*(?:(?<=\b\w)\.|(?<=\bDr|\bMr|\bMs|\bSt|\bJr|\bSr)\.|(?<=\bMrs)\.)?"
)
_BULLET: Final = re.compile(r"(?:[-*•]|\d{1,4}[.)])\s+")
_SENTENCE_END: Final = re.compile(
    r"(?<!\b[A-Z])(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bJr)(?<!\bSr)(?<!\bMrs)\.\s+(?=\S)"
)
_BRACKETS: Final = re.compile(r"\(([^()\[\]]+)\)\s*(?:\[([^\[\]]*)\])?\.?")
_RULER: Final = re.compile(r"[|\s:]*-[|\s:-]*")
_COLUMNS: Final = (("subject",), ("predicate", "relation"), ("object",), ("start", "start_time"), ("end", "end_time"))
_POSSESSIVE: Final = ("'s", "’s", "s'", "s’")
_LONGEST_HEADING: Final = 120  # characters
_MOST_WORDS: Final = 8
"""In a name, and in a predicate."""

Phrases = tuple[str, str, str]


def statements(text: str, zone: tzinfo | None) -> tuple[Triple, ...]:
    """The statements of a text, in order; none where any of it is anything else.

    Times are of that zone, and as exact as they are written. A heading ("Facts:") may stand before the statements.
    """
    if "?" in text or not any(map(str.isdigit, text)):
        return ()
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    if len(lines) > 1 and _is_heading(lines[0]):
        del lines[0]
    found: list[Triple] = []
    for line in lines:
        read = () if _is_table_head(line) else _statements_in(line, zone)
        if read is None:
            return ()
        found.extend(read)
    return tuple(found)


def _statements_in(line: str, zone: tzinfo | None) -> tuple[Triple, ...] | None:
    """The statements of a line; ``None`` where some of it is none."""
    line = _BULLET.sub("", line, count=1) if _BULLET.match(line) else line
    if line[0] == "(" or "|" in line:
        pieces = [_bracketed(line, zone) if line[0] == "(" else _tabled(line, zone)]
    else:
        pieces = [_said(sentence, zone) for sentence in _SENTENCE_END.split(line)]
    return None if None in pieces else tuple(piece for piece in pieces if piece is not None)


def _is_heading(line: str) -> bool:
    return line.endswith(":") and len(line) <= _LONGEST_HEADING


def _is_table_head(line: str) -> bool:
    if "|" not in line:
        return False
    cells = [cell.casefold() for cell in _cells(line)]
    named = len(cells) == len(_COLUMNS) and all(cell in names for cell, names in zip(cells, _COLUMNS, strict=True))
    return named or _RULER.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    line = line.removeprefix("|").removesuffix("|") if line[0] == "|" else line
    return [cell.strip() for cell in line.split("|")]


def _tabled(line: str, zone: tzinfo | None) -> Triple | None:
    """subject | predicate | object | start | end"""
    cells = _cells(line)
    if len(cells) != len(_COLUMNS):
        return None
    subject, predicate, object_, start, end = cells
    return _triple((subject, predicate, object_), read_times({"start_time": start, "end_time": end}, zone))


def _bracketed(line: str, zone: tzinfo | None) -> Triple | None:
    """(subject, predicate, object) [start_time: ...; end_time: ...]"""
    found = _BRACKETS.fullmatch(line)
    phrases = [phrase.strip() for phrase in found[1].split(",")] if found else []
    if found is None or len(phrases) != 3:
        return None
    given: dict[str, str] = {}
    for part in filter(None, map(str.strip, (found[2] or "").split(";"))):
        key, _, value = part.partition(":")
        if key.strip() in given:
            return None
        given[key.strip()] = value.strip()
    subject, predicate, object_ = phrases
    return _triple((subject, predicate, object_), read_times(given, zone))


def _said(sentence: str, zone: tzinfo | None) -> Triple | None:
    """A sentence: a name, what it has to do with another, and when, at its end or, with a comma, before all else."""
    body, times = timed(sentence.removesuffix("."), zone)
    phrases = _phrases(body.split())
    return None if phrases is None else _triple(phrases, times)


def _triple(phrases: Phrases, times: Times | None) -> Triple | None:
    """The statement, where its time is known, or it is of identifiers; no ``times``: they could not be read."""
    subject, predicate, object_ = phrases
    if times is None or not all(any(map(str.isalnum, phrase)) for phrase in phrases):
        return None
    start, end = times
    if start is None and end is None and not (_ID.fullmatch(subject) and _ID.fullmatch(object_)):
        return None
    return Triple(subject=subject, predicate=predicate, object=object_, start=start, end=end)


def _phrases(words: list[str]) -> Phrases | None:
    """Subject, predicate and object of a sentence without its time."""
    first = _name_end(words, 0)
    if first == 0 or _opens_otherwise(words[:first]):
        return None
    last = _predicate_end(words, first)
    predicate = words[first:last]
    if predicate and predicate[-1] in ARTICLES:
        predicate.pop()
    if not predicate or _may_be_a_noun(predicate) or last == len(words) or _name_end(words, last) != len(words):
        return None
    if all(word.lower() in STOP for word in words[last:]):
        return None
    return " ".join(words[:first]), " ".join(predicate), " ".join(words[last:])


def _opens_otherwise(name: list[str]) -> bool:
    """Whether what opens a sentence with a capital may be no name: a small word, or a verb ("Joined", "Bought").

    Nor is it one where it says whose the next word is ("Anna's boss").
    """
    word = name[0].lower()
    if _ID.fullmatch(name[0]):
        return False
    return word in STOP or word in IRREGULAR or word.endswith(("ed", "ing")) or name[-1].endswith(_POSSESSIVE)


def _name_end(words: list[str], start: int) -> int:
    """Where the name ends that begins at a place; there where none does. An identifier is a name by itself."""
    if start < len(words) and _ID.fullmatch(words[start]):
        return start + 1
    end, at = start, start
    while at < len(words) and at - start < _MOST_WORDS:
        word = words[at]
        if word[0].isupper() and _NAME.fullmatch(word) and not _ID.fullmatch(word):
            end = at + 1
        elif end == start or not (word in LINKS or word == "&" or (word.isdigit() and end == at)):
            break
        elif word.isdigit():
            end = at + 1
        at += 1
    return end


def _predicate_end(words: list[str], start: int) -> int:
    """Where the object begins, after the predicate that begins at a place; there where none does.

    After "was" and its like it ends with the first preposition ("was the R17 of", "was elected President of"), so that
    an office is part of it; else where the first name begins.
    """
    if start == len(words) or not _is_verb(words[start]):
        return start
    being = words[start] in BE
    for at in range(start + 1, min(len(words), start + 1 + _MOST_WORDS)):
        word = words[at]
        if being and word in PREPOSITIONS:
            return at + 1 + (words[at + 1 : at + 2] == ["the"])
        if word in NO_RELATION:
            return start
        if _is_small(word):
            continue
        if being and not _NAME.fullmatch(word) and not _ID.fullmatch(word):
            return start
        if not being or not PREPOSITIONS.intersection(words[at:]):
            return at if _is_relation(words[start:at]) else start
    return start


def _is_relation(words: list[str]) -> bool:
    """Whether a predicate that a name follows leads to it: a verb alone, or one that ends with a preposition."""
    led = words[:-1] if words[-1] in ARTICLES else words
    return len(led) == 1 or led[-1] in PREPOSITIONS


def _may_be_a_noun(predicate: list[str]) -> bool:
    """Whether its first word may belong to the name before it, since a verb follows ("Apple products was the")."""
    first, rest = predicate[0], predicate[1:]
    return first not in IRREGULAR and first.endswith("s") and any(w in IRREGULAR or w.endswith("ed") for w in rest)


def _is_verb(word: str) -> bool:
    return _is_small(word) and (word in BE or word in IRREGULAR or word.endswith(("ed", "s")))


def _is_small(word: str) -> bool:
    return word.islower() and word.replace("-", "").isalpha()
