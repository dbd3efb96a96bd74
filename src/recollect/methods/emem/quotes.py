"""Check quotes (E-mem, equation 6) against the segment character by character, and trace them to their messages.

Whitespace is folded: a run of blanks and line ends counts as one blank. Nothing else may differ. A quote repeats the
text that the assistant saw, in which tags are made harmless (:mod:`recollect.text.fencing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from recollect.answering.evidence import describe_source, indent_lines, join_lines
from recollect.domain.items import ItemKind
from recollect.methods.emem.segment_view import SegmentView
from recollect.text.fencing import fence_text

TAG: Final = "segment"

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words that were read, with the speaker and the time of the first of them, if known.

    ``messages`` are the ids of the messages of these words, in order. ``id`` and ``kind`` are those of the segment, or
    of the item if single items replace segments. ``shows`` is the assistant's comment.
    """

    id: str
    kind: ItemKind
    words: str
    speaker: str
    at: datetime | None
    messages: tuple[str, ...]
    segment: int | None = None
    shows: str = ""

    @property
    def place(self) -> str:
        """Return the place where it was read, in words."""
        return "single items" if self.segment is None else f"segment {self.segment}"

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        """Return a key that is equal for equal words, whichever segment they were read in."""
        return self.messages, join_lines(self.words)

    def render(self, number: int) -> str:
        """Return the quote as the master sees it."""
        told = describe_source(self.at, self.speaker)
        return f"[{number}] ({told}) {indent_lines(self.words)}" if told else f"[{number}] {indent_lines(self.words)}"


def render_segment(reading: SegmentView) -> str:
    """Return the text of a segment as an assistant sees it."""
    return fence_text(TAG, reading.text)


def verify_quotes(claimed: Iterable[tuple[str, str]], reading: SegmentView) -> tuple[tuple[Quote, ...], int]:
    """Return the quotes whose words are in a segment, exactly as they stand there, and how many quotes are not.

    If words occur more than once, the first place counts.
    """
    text = FoldedText(fence_words(reading))
    given = list(claimed)
    spans = [(text.find_span(words), shows) for words, shows in given]
    quotes = tuple(_make_quote(span, reading, shows) for span, shows in spans if span is not None)
    return quotes, len(given) - len(quotes)


def fence_words(reading: SegmentView) -> str:
    """Return the text of the segment with harmless tags. Every character keeps its place."""
    return render_segment(reading).removeprefix(f"<{TAG}>\n").removesuffix(f"\n</{TAG}>")


def _make_quote(span: tuple[int, int], reading: SegmentView, shows: str) -> Quote:
    passages = reading.find_passages(*span)
    return Quote(
        id=reading.id,
        kind=ItemKind.SEGMENT,
        words=reading.text[slice(*span)],
        speaker=passages[0].message.speaker,
        at=passages[0].message.at,
        messages=tuple(passage.message.id for passage in passages),
        segment=reading.number,
        shows=shows.strip(),
    )


class FoldedText:
    """A searchable text with folded whitespace. It is folded once, at the first search."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _fold_blanks(self._text)

    def find_span(self, words: str) -> tuple[int, int] | None:
        """Return the start and the end of some words in the text, or ``None`` if the text does not contain them."""
        looked_for = join_lines(words)
        if not looked_for:
            return None
        folded, places = self._folded
        at = folded.find(looked_for)
        return None if at < 0 else (places[at], places[at + len(looked_for) - 1] + 1)


def _fold_blanks(text: str) -> tuple[str, list[int]]:
    """Return the text with each run of whitespace as one blank, and the original place of each of its characters."""
    characters: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        blank = character.isspace()
        if blank and characters and characters[-1] == " ":
            continue
        characters.append(" " if blank else character)
        places.append(at)
    return "".join(characters), places


def drop_known(quotes: Iterable[Quote], known: Iterable[Quote] = ()) -> tuple[Quote, ...]:
    """Return the quotes that are not known, each once. Text in the overlap is read twice."""
    seen = {quote.key for quote in known}
    new: dict[tuple[tuple[str, ...], str], Quote] = {}
    for quote in quotes:
        if quote.key not in seen:
            new.setdefault(quote.key, quote)
    return tuple(new.values())


def sort_quotes(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """Return quotes segment by segment, and in each segment by their time, so that later words are read later.

    Quotes without a time come before the others.
    """

    def place(quote: Quote) -> tuple[int, datetime]:
        return -1 if quote.segment is None else quote.segment, quote.at or _BEFORE_ALL

    return tuple(sorted(quotes, key=place))
