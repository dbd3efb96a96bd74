"""Format evidence and receipts for a reader."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recollect.cli.output import (
    format_count,
    format_faint,
    format_green,
    format_strong,
    format_table,
    indent_text,
    make_printable,
    truncate_text,
)

if TYPE_CHECKING:
    from recollect.domain.items import ItemKind
    from recollect.domain.recalls import Evidence, RecallReceipt
    from recollect.domain.receipts import ForgetReceipt

_MARGIN = 4
_SPOKEN_KINDS = ("turn", "segment")
_BELIEVED_KIND = "opinion"
_UNDATED = "undated"
_MOST_POSSIBLE = 20


def format_evidence(rank: int, evidence: Evidence) -> str:
    """Return a whole piece of evidence: its date, speaker, score, kind if it is not raw words, words and reasons."""
    speaker = format_strong(make_printable(evidence.speaker))
    head = f"{rank:>2}. {format_spoken_day(evidence)}  {speaker}  {evidence.score:.2f}"
    if evidence.kind.value not in _SPOKEN_KINDS:
        head += f"  {describe_kind(evidence.kind)}{f' ({make_printable(evidence.label)})' if evidence.label else ''}"
    body = indent_text(evidence.text, " " * _MARGIN)
    foot = indent_text(f"{format_reasons(evidence)} · {', '.join(evidence.sources)}", " " * _MARGIN)
    return f"{head}\n{body}\n{format_faint(foot)}"


def format_evidence_line(evidence: Evidence, *, gold: bool, columns: int) -> str:
    """Return a piece of evidence in two lines. ``gold`` marks evidence that contains the answer."""
    mark = format_green("✓") if gold else " "
    name = f"{truncate_text(evidence.speaker, 8):<6}"
    words = truncate_text(evidence.text, columns - len(f"  ✓ 0.00  2023-07-11  {name} "))
    head = f"  {mark} {evidence.score:.2f}  {format_spoken_day(evidence)}  {format_strong(name)} {words}"
    return f"{head}\n{format_faint(' ' * 10 + truncate_text(format_reasons(evidence), columns - 10))}"


def describe_kind(kind: ItemKind) -> str:
    """Return the kind of an item, and its standing: somebody said it, the bank knows it, or the bank believes it."""
    if kind.value in _SPOKEN_KINDS:
        return f"said, {kind.value}"
    return f"{'believed' if kind.value == _BELIEVED_KIND else 'known'}, {kind.value}"


def format_spoken_day(evidence: Evidence) -> str:
    """Return the day on which the evidence was said, or "undated" in the same number of columns."""
    return f"{_UNDATED:<10}" if evidence.mentioned is None else f"{evidence.mentioned:%Y-%m-%d}"


def format_reasons(evidence: Evidence) -> str:
    """Return the time that the words of the evidence speak of, and the arms that found it with its rank in each."""
    from recollect.text.time_expressions import describe_interval

    time = (f"speaks of {describe_interval(evidence.occurred)}",) if evidence.occurred else ()
    arms = ", ".join(f"{why.arm} {why.rank}" for why in evidence.why)
    return " · ".join((*time, arms))


def format_recall_receipt(receipt: RecallReceipt) -> str:
    """Return the result of each arm, and how much was cut."""
    from recollect.text.time_expressions import describe_interval

    rows = [("arm", "status", "ms", "candidates", "note")] + [
        (arm.arm, arm.status.value, f"{arm.seconds * 1e3:.1f}", str(arm.candidates), truncate_text(arm.note, 60))
        for arm in receipt.arms
    ]
    about = (
        f"{receipt.fusion} fusion, {f'reranked by {receipt.reranker}' if receipt.reranker else 'no reranker'}; "
        f"{format_count(receipt.candidates, 'candidate')}, {receipt.cut_by_limit} cut by the limit, "
        f"{receipt.cut_by_budget} by the token budget; "
        f"{format_count(receipt.tokens, 'token')}; {receipt.seconds * 1e3:.1f} ms"
    )
    window = f"\ntime asked about: {describe_interval(receipt.during)}" if receipt.during else ""
    return f"\n{format_table(rows, right=(2, 3))}\n{about}{window}"


def format_forget_receipt(receipt: ForgetReceipt) -> str:
    """Return the counts of what was removed, and the result of the check that nothing is left."""
    gone = ", ".join(
        (
            format_count(len(receipt.messages), "message"),
            format_count(receipt.sessions, "session"),
            format_count(receipt.items, "item"),
            format_count(receipt.links, "link"),
            f"{receipt.entities:,} {'entity' if receipt.entities == 1 else 'entities'}",
            format_count(receipt.mentions, "mention"),
        )
    )
    verb = "would forget" if receipt.dry_run else "forgot"
    return "\n".join((f"{verb} {gone} in {receipt.seconds * 1e3:.0f} ms", *list_forget_notes(receipt)))


def list_forget_notes(receipt: ForgetReceipt) -> list[str]:
    """Return the result of the check, what else was removed, and which messages only might be meant. No words."""
    from recollect.domain.receipts import Verification

    notes = []
    if receipt.quotes:
        kinds = Counter(quote.kind for quote in receipt.quotes)
        told = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        notes.append(f"among these are texts that quoted a forgotten message without citing it: {told}")
    if receipt.replies:
        notes.append(f"kept replies removed from the reply cache: {receipt.replies:,}")
    match receipt.verification:
        case Verification.VERIFIED:
            notes.append("verified: none of their words is left in any file of the bank")
        case Verification.WORDS_LEFT:
            notes.append(f"NOT verified: words were found in {', '.join(receipt.leftovers)}")
        case Verification.UNKNOWN:
            notes.append("could NOT be verified")
    notes.extend(f"reason: {reason}" for reason in receipt.reasons)
    if receipt.possible:
        some = ", ".join(receipt.possible[:_MOST_POSSIBLE])
        more = (
            "" if len(receipt.possible) <= _MOST_POSSIBLE else f" and {len(receipt.possible) - _MOST_POSSIBLE:,} more"
        )
        notes.append(f"left, although they might be meant: {some}{more}")
    return notes
