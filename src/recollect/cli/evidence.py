"""Evidence and receipts as a reader sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.output import count, cut, faint, green, indented, printable, strong, table

if TYPE_CHECKING:
    from recollect.domain.items import ItemKind
    from recollect.domain.recalls import Evidence, RecallReceipt
    from recollect.domain.receipts import ForgetReceipt

_MARGIN = 4
_SAID = ("turn", "segment")
_BELIEVED = "opinion"
_UNDATED = "undated"


def evidence_block(rank: int, evidence: Evidence) -> str:
    """A piece of evidence in full: who said it when, what it is if not raw words, the words, why it is here."""
    head = f"{rank:>2}. {said(evidence)}  {strong(printable(evidence.speaker))}  {evidence.score:.2f}"
    if evidence.kind.value not in _SAID:
        head += f"  {standing(evidence.kind)}{f' ({printable(evidence.label)})' if evidence.label else ''}"
    body = indented(evidence.text, " " * _MARGIN)
    foot = indented(f"{reasons(evidence)} · {', '.join(evidence.sources)}", " " * _MARGIN)
    return f"{head}\n{body}\n{faint(foot)}"


def evidence_line(evidence: Evidence, *, gold: bool, columns: int) -> str:
    """A piece of evidence in two lines, marked where it is what the question is about."""
    mark = green("✓") if gold else " "
    name = f"{cut(evidence.speaker, 8):<6}"
    words = cut(evidence.text, columns - len(f"  ✓ 0.00  2023-07-11  {name} "))
    head = f"  {mark} {evidence.score:.2f}  {said(evidence)}  {strong(name)} {words}"
    return f"{head}\n{faint(' ' * 10 + cut(reasons(evidence), columns - 10))}"


def standing(kind: ItemKind) -> str:
    """What an item is, and whether somebody said it, the bank knows it, or the bank believes it."""
    if kind.value in _SAID:
        return f"said, {kind.value}"
    return f"{'believed' if kind.value == _BELIEVED else 'known'}, {kind.value}"


def said(evidence: Evidence) -> str:
    """The day on which it was said, or that nobody knows, in as many columns."""
    return f"{_UNDATED:<10}" if evidence.mentioned is None else f"{evidence.mentioned:%Y-%m-%d}"


def reasons(evidence: Evidence) -> str:
    """The time that its words speak of, past or to come, and the arms that brought it with its rank in each."""
    from recollect.text.when import describe

    time = (f"speaks of {describe(evidence.occurred)}",) if evidence.occurred else ()
    arms = ", ".join(f"{why.arm} {why.rank}" for why in evidence.why)
    return " · ".join((*time, arms))


def receipt_block(receipt: RecallReceipt) -> str:
    """What each arm did, and what was cut."""
    from recollect.text.when import describe

    rows = [("arm", "status", "ms", "candidates", "note")] + [
        (arm.arm, arm.status.value, f"{arm.seconds * 1e3:.1f}", str(arm.candidates), cut(arm.note, 60))
        for arm in receipt.arms
    ]
    about = (
        f"{receipt.fusion} fusion, {f'reranked by {receipt.reranker}' if receipt.reranker else 'no reranker'}; "
        f"{count(receipt.candidates, 'candidate')}, {receipt.cut_by_limit} cut by the limit, "
        f"{receipt.cut_by_budget} by the token budget; {count(receipt.tokens, 'token')}; {receipt.seconds * 1e3:.1f} ms"
    )
    window = f"\ntime asked about: {describe(receipt.during)}" if receipt.during else ""
    return f"\n{table(rows, right=(2, 3))}\n{about}{window}"


def forget_block(receipt: ForgetReceipt) -> str:
    """What is gone, and whether the check found any of it."""
    gone = ", ".join(
        (
            count(len(receipt.messages), "message"),
            count(receipt.sessions, "session"),
            count(receipt.items, "item"),
            count(receipt.links, "link"),
            f"{receipt.entities:,} {'entity' if receipt.entities == 1 else 'entities'}",
            count(receipt.mentions, "mention"),
        )
    )
    if receipt.verified:
        check = "verified: none of their words is left in any file of the bank"
    else:
        check = f"NOT verified: words were found in {', '.join(receipt.leftovers) or 'no file that could be checked'}"
    return f"forgot {gone} in {receipt.seconds * 1e3:.0f} ms\n{check}"
