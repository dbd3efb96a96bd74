"""Render snippets for a prompt. They may come from any retriever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.answering.evidence import describe_source, indent_lines, render_with_times
from recollect.domain.recalls import Evidence
from recollect.methods.memr3.trace import Snippet
from recollect.text.time_expressions import describe_interval


def number_snippets(found: Sequence[Evidence], after: int) -> tuple[Snippet, ...]:
    """Return the evidence as snippets, numbered from ``after + 1`` on, in the retriever's order.

    An item of the bank is shown with every time that it speaks of. A retriever may also return evidence that is not in
    the bank. Such evidence is shown with the times that it has itself.
    """
    return tuple(
        Snippet(number=number, evidence=one, shown=f"[{number}] {_render_snippet(one)}")
        for number, one in enumerate(found, start=after + 1)
    )


def _render_snippet(evidence: Evidence) -> str:
    if evidence.item is not None:
        return render_with_times(evidence.item)
    told = "; ".join(_describe_times(evidence))
    return f"({told}) {indent_lines(evidence.text)}" if told else indent_lines(evidence.text)


def _describe_times(evidence: Evidence) -> Iterator[str]:
    if known := describe_source(evidence.mentioned, evidence.speaker):
        yield known
    if evidence.occurred is not None:
        yield f"time {describe_interval(evidence.occurred)}"
