"""Quotes (E-mem, equation 6): held against the segment character by character, and traced to the messages they are of.

Whitespace is folded: a run of blanks and line ends counts as one blank. Nothing else is forgiven. A quote is what the
assistant was shown, in which tags are made harmless (:mod:`recollect.text.fencing`).
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
    """Words that were read, who said the first of them and when, where that is known.

    ``messages`` are the ids of those that the words are of, in order. ``id`` and ``kind`` are of what they were read
    in: the segment, or, where single items stand in for segments, the item. ``shows`` is the assistant's word.
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
        """Where it was read, in words."""
        return "single items" if self.segment is None else f"segment {self.segment}"

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        """The same for the same words, whichever segment they were read in."""
        return self.messages, join_lines(self.words)

    def render(self, number: int) -> str:
        """The quote as the master sees it."""
        told = describe_source(self.at, self.speaker)
        return f"[{number}] ({told}) {indent_lines(self.words)}" if told else f"[{number}] {indent_lines(self.words)}"


def render_segment(reading: SegmentView) -> str:
    """A segment's text as an assistant sees it."""
    return fence_text(TAG, reading.text)


def verify_quotes(claimed: Iterable[tuple[str, str]], reading: SegmentView) -> tuple[tuple[Quote, ...], int]:
    """Of words and what they are said to show, those that stand in a segment, as they stand there; and how many do not.

    Where words stand in it more than once, the first place counts.
    """
    text = FoldedText(fence_words(reading))
    given = list(claimed)
    spans = [(text.find_span(words), shows) for words, shows in given]
    quotes = tuple(_make_quote(span, reading, shows) for span, shows in spans if span is not None)
    return quotes, len(given) - len(quotes)


def fence_words(reading: SegmentView) -> str:
    """The segment's text with harmless tags; every character stands where it stands in the text."""
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
    """A text to look for words in, whitespace folded: once, when that is first done, however much is looked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _fold_blanks(self._text)

    def find_span(self, words: str) -> tuple[int, int] | None:
        """From and to before which character words stand in the text; ``None`` where they do not."""
        looked_for = join_lines(words)
        if not looked_for:
            return None
        folded, places = self._folded
        at = folded.find(looked_for)
        return None if at < 0 else (places[at], places[at + len(looked_for) - 1] + 1)


def _fold_blanks(text: str) -> tuple[str, list[int]]:
    """The text with runs of whitespace as one blank, and where each of its characters stands in the text."""
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
    """The quotes that are not known, each once: what stands in the overlap is read twice."""
    seen = {quote.key for quote in known}
    new: dict[tuple[tuple[str, ...], str], Quote] = {}
    for quote in quotes:
        if quote.key not in seen:
            new.setdefault(quote.key, quote)
    return tuple(new.values())


def sort_quotes(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """Segment by segment, and in each by the time at which it was said, so that what came later is read later.

    What has no time comes before what has one.
    """

    def place(quote: Quote) -> tuple[int, datetime]:
        return -1 if quote.segment is None else quote.segment, quote.at or _BEFORE_ALL

    return tuple(sorted(quotes, key=place))
