"""Find names in a text by rules: people, places, organisations and titles of works.

These rules replace the extraction of Hindsight (section 4.1.2) where no language model is configured. They prefer
precision: a capital letter that only opens a sentence does not make a name. The rules know English spelling. In a
language that capitalises every noun (German) they find too many names. In a script without capitals they find only the
names of the speakers.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from recollect.domain.entities import EntityKind
from recollect.text.name_index import LONGEST_NAME, NameIndex
from recollect.text.name_words import (
    DOTTED,
    ENDS,
    IN_NAMES,
    KEEP_POSSESSIVE,
    LINKS,
    MOTION,
    NAME,
    NEVER,
    NOT_VERBS,
    NUMBERED,
    OPENING_NAMES,
    ORGANIZATIONS,
    PLACE_HEADS,
    PLACES,
    RELATIONS,
    ROLES,
    SHOUTED,
    SKIPPED,
    STOP,
    STOP_CAPITALISED,
    TITLES,
)

MAX_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """A name as the text writes it, without a possessive 's. ``span`` gives its place in the text, in characters."""

    text: str
    kind: EntityKind
    span: tuple[int, int]


def find_names(text: str, speakers: Collection[str] = (), known: Container[str] = frozenset()) -> tuple[FoundName, ...]:
    """Return every name of a text, from first to last. Names do not overlap.

    A capitalised word that opens a sentence counts only in four cases: it is the name of a speaker, it belongs to a
    longer capitalised phrase, the text capitalises it in the middle of a sentence elsewhere, or it is in ``known``
    (names seen before, casefolded). Speakers that are roles ("user", "assistant") are not names. The function never
    raises, and its time is linear in the length of the text.
    """
    people = _make_people(speakers if isinstance(speakers, frozenset) else frozenset(speakers))
    names: list[FoundName] = []
    openers: list[_Opener] = []
    inside: set[str] = set()  # words that are capitalised inside a sentence
    for hit in NAME.finditer(text):
        if hit.lastgroup is None:
            _read_phrase(text, hit, people, names, openers, inside)
        elif (special := _read_special(hit)) is not None:
            names.append(special)
    proven = (opener for opener in openers if opener[0] in inside or opener[0] in known)
    kept = [name for _, at, words in proven if (name := _make_name(text, at, words, people)) is not None]
    if people.uncased.names:
        kept.extend(_find_uncased(text, people.uncased, [*names, *kept]))
    if kept:
        names = sorted([*names, *kept], key=_span_start)
    return tuple(names)


_Opener = tuple[str, int, list[str]]  # a possible name that opens a sentence: in lower case, its place, its words


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownPeople:
    words: frozenset[str] = frozenset()
    uncased: NameIndex = NameIndex()


_recent: Final[deque[tuple[frozenset[str], _KnownPeople]]] = deque(maxlen=8)  # few: a bank may have many speakers


def _make_people(speakers: frozenset[str]) -> _KnownPeople:
    """Return what is known of the speakers. New speakers of a bank are added to what was known before."""
    known, people = max(
        (one for one in tuple(_recent) if one[0] <= speakers),
        key=lambda one: len(one[0]),
        default=(frozenset[str](), _KnownPeople()),
    )
    if len(known) < len(speakers):
        named = [name for speaker in speakers - known if (name := speaker.strip())]
        words = people.words.union(*map(_list_words, named))
        uncased = people.uncased.extend((name, _split_uncased(name)) for name in named)
        people = _KnownPeople(words=words, uncased=uncased)
        _recent.append((speakers, people))
    return people


def _list_words(name: str) -> frozenset[str]:
    """Return a speaker's name and its words, in lower case, without words that other names have too."""
    low = name.lower()
    words = frozenset() if low in ROLES else frozenset((low, *low.split()))
    return frozenset(word for word in words if len(word) > 1 and word not in LINKS)


def _split_uncased(name: str) -> tuple[str, ...]:
    """Return the words of a speaker's name that begins without a capital. Other names have none."""
    low = name.lower()
    if name[0].isupper() or low in ROLES or low in STOP or len(name) > LONGEST_NAME:
        return ()
    return tuple(_UNCASED_WORD.findall(name))


def _read_phrase(
    text: str,
    hit: re.Match[str],
    people: _KnownPeople,
    names: list[FoundName],
    openers: list[_Opener],
    inside: set[str],
) -> None:
    """Add the names of one capitalised phrase."""
    phrase, start = hit[0], hit.start()
    # Most capitalised phrases are one stop word and end here.
    if phrase in STOP_CAPITALISED and phrase.lower() not in people.words:
        return
    opens = _is_sentence_start(text, start)
    several = " " in phrase
    if not several and _is_compound_half(text, hit.end(), phrase, people):
        return
    if opens and phrase.isalpha() and phrase[1:].islower() and (low := phrase.lower()) not in people.words:
        # Most sentences begin with an ordinary word. It counts as a name only if other text proves it.
        if low not in STOP:
            openers.append((low, start, [phrase]))
        return
    shouted = several and phrase.isupper() and phrase[-1].isalpha()
    for at, words, leads in _split_runs(phrase, start, opens, people):
        name = _make_name(text, at, words, people)
        if name is None:
            continue
        word = name.text.lower()
        if shouted and word not in people.words:
            continue
        if opens and leads and _needs_proof(words, word, people):
            openers.append((word, at, words))
            continue
        names.append(name)
        if not (opens and leads):
            inside.add(word)


def _is_compound_half(text: str, end: int, word: str, people: _KnownPeople) -> bool:
    """Return true if a single word is half of an ordinary compound ("Self-care", "Spanish-speaking")."""
    if text[end : end + 1] != "-" or not text[end + 1 : end + 2].islower():
        return False
    return not word.isupper() and word.lower() not in people.words


def _needs_proof(words: Sequence[str], word: str, people: _KnownPeople) -> bool:
    """Return true if a phrase that opens a sentence may be an ordinary word with a capital letter."""
    if word in people.words:
        return word in STOP  # a speaker called Will
    if any(char.isupper() for char in _strip_punctuation(words[0])[1:]):
        return False  # NASA, LeBron, Jean-Luc
    return len(words) == 1 or (len(words) == 2 and words[1][0].isdigit() and words[0].lower() not in NUMBERED)


def _split_runs(phrase: str, start: int, opens: bool, people: _KnownPeople) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the runs of words between stop words: the offset, the words, and true if the run holds the phrase's first
    word.
    """
    words = phrase.split(" ")
    at, begun, run = start, start, list[str]()
    for index, word in enumerate(words):
        if _is_break(word, index, words, opens, people):
            yield from _trim_run(begun, run, begun == start, people)
            run, begun = [], at + len(word) + 1
        else:
            run.append(word)
            if _owner(word) in people.words and word != _owner_text(word):  # "Maria's Toyota" is two names
                yield from _trim_run(begun, run, begun == start, people)
                run, begun = [], at + len(word) + 1
        at += len(word) + 1
    yield from _trim_run(begun, run, begun == start, people)


def _is_break(word: str, index: int, words: Sequence[str], opens: bool, people: _KnownPeople) -> bool:
    low = _owner(word)
    if low in people.words:
        return opens and index == 0 and low in STOP
    if index:
        return low in NEVER or (_is_stop(word) and low not in IN_NAMES and (index == len(words) - 1 or word.isupper()))
    if len(words) > 1 and low in (OPENING_NAMES if opens else IN_NAMES):
        return False  # "in New York", "I read The Hobbit"
    return _is_stop(word) or (opens and len(words) > 1 and low.endswith("ing") and low not in NOT_VERBS)


def _trim_run(at: int, run: list[str], leads: bool, people: _KnownPeople) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the run without stop words, connectives and numbers at its start, and without connectives at its end."""
    first, last = 0, len(run)
    while first < last and _is_no_head(run[first], leads and first == 0, people):
        first += 1
    while last > first and (run[last - 1] in LINKS or run[last - 1] == "&" or _is_tail_stop(run[last - 1])):
        last -= 1
    if first < last:
        yield at + sum(len(word) + 1 for word in run[:first]), run[first:last], leads and first == 0


def _is_no_head(word: str, leads: bool, people: _KnownPeople) -> bool:
    if word in LINKS or word == "&" or word[0].isdigit():
        return True
    return not leads and _is_stop(word) and word.lower() not in IN_NAMES and _owner(word) not in people.words


def _is_tail_stop(word: str) -> bool:
    return _owner(word) in NEVER


def _make_name(text: str, at: int, words: Sequence[str], people: _KnownPeople) -> FoundName | None:
    """Return the name that these words spell, or ``None`` for shouted words and single letters."""
    if len(words) == 2 and words[1][0].isdigit() and words[0].lower() in people.words:
        words = words[:1]  # "with John 2"
    end = at + sum(map(len, words)) + len(words) - 1
    end -= len(words[-1]) - len(_strip_possessive(words)) + (words[-1].endswith(".") and not DOTTED.search(words[-1]))
    spelled = text[at:end]
    if not 1 < len(spelled) <= MAX_NAME or (spelled.isupper() and _is_shouted(words, people)):
        return None
    return FoundName(text=spelled, kind=_classify(text, at, words, people), span=(at, end))


def _is_shouted(words: Sequence[str], people: _KnownPeople) -> bool:
    bare = _strip_punctuation(words[0])
    if len(words) > 1:
        return not any(any(map(str.isdigit, word)) or "." in word for word in words)
    if bare.lower() in people.words or not bare.isascii():
        return False
    return bare.lower() in SHOUTED or (len(bare) > 6 and bare.isalpha() and not bare.startswith("LGBT"))


def _strip_possessive(words: Sequence[str]) -> str:
    last = words[-1]
    if words[0] in ("St.", "Saint") or last in KEEP_POSSESSIVE:
        return last
    return _strip_punctuation(last)


def _strip_punctuation(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s", "'S", "’S")) else word


def _owner_text(word: str) -> str:
    return word.replace("’", "'").partition("'")[0]


def _owner(word: str) -> str:
    return _owner_text(word).lower()


def _is_stop(word: str) -> bool:
    low = word.lower().replace("’", "'")
    return low in STOP or low.partition("'")[0] in STOP


def _is_sentence_start(text: str, at: int) -> bool:
    """Return true if only blanks, quotes and bullets stand between here and the end of a sentence, a line start or an
    emoji.
    """
    for back in range(at - 1, max(-1, at - 17), -1):
        char = text[back]
        if char in SKIPPED:
            continue
        if char in "\"“«„(['‘":
            return True
        return char in ENDS or (ord(char) > 0x2190 and not char.isalnum())
    return True


def _read_special(hit: re.Match[str]) -> FoundName | None:
    if hit.lastgroup == "handle":
        return FoundName(text=hit["handle"], kind=EntityKind.PERSON, span=hit.span("handle"))
    title = hit["title"].rstrip(",.")
    words = title.rstrip("!?").split(" ")
    if len(title) < 2 or all(map(_is_stop, words)) or (len(words) == 1 and title.endswith(("!", "?"))):
        return None
    start = hit.start("title")
    return FoundName(text=title, kind=EntityKind.PRODUCT, span=(start, start + len(title)))


def _classify(text: str, at: int, words: Sequence[str], people: _KnownPeople) -> EntityKind:
    head, tail = words[0].lower(), _owner(words[-1])
    if head in people.words and all(_owner(word) in people.words for word in words):
        return EntityKind.PERSON
    if len(words) > 1:
        kind = _classify_phrase(head, tail, words)
        if kind is not None:
            return kind
    elif words[0][0].islower():
        return EntityKind.PRODUCT  # iPhone
    return _classify_by_context(text[max(0, at - 40) : at])


def _classify_phrase(head: str, tail: str, words: Sequence[str]) -> EntityKind | None:
    if (head in TITLES and "of" not in words) or DOTTED.match(words[0]):
        return EntityKind.PERSON
    if tail in ORGANIZATIONS or head in ("university", "bank", "school", "college", "ministry", "department"):
        return EntityKind.ORGANIZATION
    if tail in PLACES or head in PLACE_HEADS:
        return EntityKind.LOCATION
    return EntityKind.PRODUCT if words[-1][0].isdigit() else None


def _classify_by_context(before: str) -> EntityKind:
    context = before.lower().split()
    if not context:
        return EntityKind.OTHER
    last, earlier = context[-1], context[-3:-1]
    if last in RELATIONS:
        return EntityKind.PERSON
    if last in ("in", "near", "visit", "visited", "visiting"):
        return EntityKind.LOCATION
    if last in ("to", "at", "from", "around", "through") and not MOTION.isdisjoint(earlier):
        return EntityKind.LOCATION
    return EntityKind.OTHER


def _find_uncased(text: str, speakers: NameIndex, names: Sequence[FoundName]) -> Iterator[FoundName]:
    """Yield the speakers whose names begin without a capital ("田中", "ada99"), where they are spelled in the same
    way.
    """
    first_words = speakers.lengths.keys()
    if first_words.isdisjoint(text) and first_words.isdisjoint(_ASCII_WORD.findall(text)):
        return  # most texts name none, and this is soon seen
    places = [found.span() for found in _UNCASED_WORD.finditer(text)]
    words = [text[start:end] for start, end in places]
    taken = sorted(name.span for name in names)
    place = after = 0
    for at in [at for at, word in enumerate(words) if word in first_words]:
        if at < after or (at > 0 and (words[at - 1] == "@" or _ASCII_WORD.match(words[at - 1]))):
            continue
        ends = (end for end, _ in speakers.find_at(words, at) if end == len(words) or not _ASCII_WORD.match(words[end]))
        after = next(ends, 0)
        if not after:
            continue
        start, end = places[at][0], places[after - 1][1]
        while place < len(taken) and taken[place][1] <= start:
            place += 1
        if place == len(taken) or end <= taken[place][0]:
            yield FoundName(text=text[start:end], kind=EntityKind.PERSON, span=(start, end))


# Words of ASCII have an end that can be seen. Other scripts may have none, so there each character is looked at.
_UNCASED_WORD: Final = re.compile(r"[A-Za-z0-9_]+|.", re.S)
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9_]+")


def _span_start(name: FoundName) -> int:
    return name.span[0]
