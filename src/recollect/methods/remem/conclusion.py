"""Choose what is shown of everything found, and ask for the answer (REMem, Algorithm 2, lines 8 and 22)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.answering.answers import CitedReply, require_answer
from recollect.domain.answers import Citation, cite
from recollect.methods.remem.observations import NumberedItem, Observation
from recollect.models.language import LanguageModel, Prompt, Reply
from recollect.recall.trim import count_fitting
from recollect.text.tokens import count_all


@dataclass(frozen=True, slots=True, kw_only=True)
class RecollectionReply(CitedReply):
    """An answer. Its citations are the numbers of the gists and facts that it rests on. Only an abstention has none."""

    __pydantic_config__: ClassVar = {"title": "Recollected"}  # its name in requests to a model, recorded ones too


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineReply:
    """An answer from reasoning over a timeline, followed by a reflection on it (TISER: Bazaga et al., 2025).

    Its citations are the numbers of the gists and facts that it rests on. Only an abstention has none.
    """

    __pydantic_config__: ClassVar = {"title": "Reflected"}  # its name in requests to a model, recorded ones too

    reasoning: str
    timeline: tuple[str, ...]
    reflection: str
    answer: str
    abstained: bool
    citations: tuple[int, ...]

    def __post_init__(self) -> None:
        require_answer(self.answer, abstained=self.abstained, citations=self.citations)


Conclusion = RecollectionReply | TimelineReply


async def conclude(
    prompt: Prompt, shown: Sequence[NumberedItem], model: LanguageModel, *, tiser: bool
) -> Reply[RecollectionReply] | Reply[TimelineReply]:
    """Ask the model for the answer from the items that the prompt shows. With ``tiser`` it reasons over a timeline.

    Raises:
        ModelError: the model failed.
    """

    def check(reply: Conclusion) -> None:
        require_known_numbers(reply.citations, shown)

    if tiser:
        return await model.generate(prompt, TimelineReply, check=check)
    return await model.generate(prompt, RecollectionReply, check=check)


def require_known_numbers(numbers: Iterable[int], shown: Sequence[NumberedItem]) -> None:
    """Raise ValueError if one of the numbers belongs to no item that was shown."""
    known = [one.number for one in shown]
    for number in numbers:
        if number not in known:
            raise ValueError(f"there is no evidence {number}; cite of these: {', '.join(map(str, known))}")


def cite_items(numbers: Iterable[int], shown: Sequence[NumberedItem]) -> tuple[Citation, ...]:
    """Return citations of the shown items with these numbers, each once, in the order in which they are first named."""
    items = {one.number: one.item for one in shown}
    return tuple(cite(items[number]) for number in dict.fromkeys(numbers))


def select_shown(observations: Sequence[Observation], max_tokens: int | None) -> tuple[NumberedItem, ...]:
    """Choose which of the observed items a prompt shows. Return each once, in the order of the numbers.

    If not all of them fit into ``max_tokens``, the first item of each list comes before the second of any list. Among
    items of the same rank, those that were found last come first.
    """
    ranked = sorted(
        ((one.why.rank, -at, one) for at, found in enumerate(observations) for one in found.items),
        key=lambda entry: entry[:2],
    )
    each = list({one.number: one for _, _, one in reversed(ranked)}.values())[::-1]
    kept = each if max_tokens is None else each[: count_fitting(count_all([one.render for one in each]), max_tokens)]
    return tuple(sorted(kept, key=lambda one: one.number))
