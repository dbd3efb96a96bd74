"""Cut a segment that does not fit to the lines that were found, and a long line to the words that were found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recollect.domain.messages import StoredMessage
from recollect.methods.emem.activation import TurnHit
from recollect.methods.emem.quotes import FoldedText
from recollect.methods.emem.segment_lookup import sample_text
from recollect.methods.emem.segment_view import SegmentView, make_view
from recollect.retain.segments import CONTINUATION_MARK, render_head
from recollect.retain.turns import split_parts
from recollect.text.tokens import count_all

Span = tuple[int, int]
"""The first character of a part of a line, and the character after its last."""

Spans = tuple[Span, ...]
"""Spans in order that do not touch."""


@dataclass(frozen=True, slots=True)
class SegmentLine:
    """The line of a message in a segment. ``folded`` is its searchable form, ``passages`` are all passages of the
    message.
    """

    message: StoredMessage
    text: str
    folded: FoldedText
    passages: tuple[str, ...]

    def whole_span(self, hit: TurnHit) -> Spans:
        """Return the whole line as a span."""
        return ((0, len(self.text)),)

    def find_hit(self, hit: TurnHit) -> Spans:
        """Return the spans of the words by which a turn was found."""
        wanted = (hit.words, *(passage for passage in self.passages if passage in hit.words))
        return join_spans(span for span in map(self._find_span, wanted) if span is not None)

    def _find_span(self, words: str) -> Span | None:
        """Return the span of some words. If an edge of the segment cuts them, it is the span of the known part."""
        own = self.folded.find_span(words)
        places = [own] if own else [self.folded.find_span(sample) for sample in sample_text(words)]
        there = [place for place in places if place is not None]
        if not there:
            return None
        start = min(start for start, _ in there)
        return 0 if start <= len(render_head(self.message)) else start, max(end for _, end in there)

    def render(self, spans: Spans) -> str:
        """Return the text of some spans under the head of the line. It is empty without spans."""
        if not spans or spans == ((0, len(self.text)),):
            return self.text if spans else ""
        begin = f"{render_head(self.message)}{CONTINUATION_MARK}" if spans[0][0] else ""
        end = f" {CONTINUATION_MARK.rstrip()}" if spans[-1][1] < len(self.text.rstrip()) else ""
        words = f" {CONTINUATION_MARK}".join(self.text[slice(*span)].strip() for span in spans)
        return f"{begin}{words}{end}\n"


class Excerpt:
    """The part of a segment that is shown so far."""

    def __init__(self, reading: SegmentView) -> None:
        self._number = reading.number
        texts = [(one.message, reading.text[one.start : one.end]) for one in reading.passages]
        self._lines = {message.id: _make_line(message, text) for message, text in texts}
        self._spans: dict[str, Spans] = {}

    @property
    def reading(self) -> SegmentView:
        """Return its lines as a reading."""
        return make_view(
            self._number,
            [
                (line.message, line.render(self._spans[id_]))
                for id_, line in self._lines.items()
                if self._spans.get(id_)
            ],
        )

    def add_hit(self, hit: TurnHit, room: int) -> int:
        """Add the lines of a turn, or its words, if they fit into ``room`` tokens. Return their cost in tokens."""
        lines = {id_: self._lines[id_] for id_ in dict.fromkeys(hit.messages) if id_ in self._lines}
        before = {id_: self._spans.get(id_, ()) for id_ in lines}
        ways: tuple[Callable[[SegmentLine, TurnHit], Spans], ...] = (SegmentLine.whole_span, SegmentLine.find_hit)
        for way in ways:
            after = {id_: join_spans((*before[id_], *way(line, hit))) for id_, line in lines.items()}
            cost = self._cost(after) - self._cost(before)
            if cost <= room:
                self._spans |= after
                return cost
        return 0

    def _cost(self, spans: dict[str, Spans]) -> int:
        return sum(count_all([self._lines[id_].render(some) for id_, some in spans.items()]))


def build_excerpts(found: Iterable[tuple[TurnHit, SegmentView]], room: int) -> dict[int, SegmentView]:
    """Return the parts of segments that fit into ``room`` tokens, by segment number. Lines are added in the given
    order.

    Of a line that does not fit into the remaining space, only the words that were found in it are added.
    """
    made: dict[int, Excerpt] = {}
    for hit, reading in found:
        if reading.number not in made:
            made[reading.number] = Excerpt(reading)
        room -= made[reading.number].add_hit(hit, room)
    readings = {number: excerpt.reading for number, excerpt in made.items()}
    return {number: reading for number, reading in readings.items() if reading.text}


def _make_line(message: StoredMessage, text: str) -> SegmentLine:
    return SegmentLine(message, text, FoldedText(text), tuple(part.text for part in split_parts(message)))


def join_spans(spans: Iterable[Span]) -> Spans:
    """Return the spans in order. Spans that overlap or touch are joined."""
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return tuple(apart)
