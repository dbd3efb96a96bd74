"""The answer from all that was found (REMem, Algorithm 2, lines 8 and 22), and how much of it is shown."""

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
    """An answer; citations are the numbers of the gists and facts it rests on, none only where it abstains."""

    __pydantic_config__: ClassVar = {"title": "Recollected"}  # its name in requests to a model, recorded ones too


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineReply:
    """An answer that was reasoned out over a timeline, and reflected on (TISER: Bazaga et al., 2025).

    Citations are the numbers of the gists and facts it rests on, none only where it abstains.
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
    """What a model concludes from what the prompt shows.

    Raises:
        ModelError: the model failed.
    """

    def check(reply: Conclusion) -> None:
        require_known_numbers(reply.citations, shown)

    if tiser:
        return await model.generate(prompt, TimelineReply, check=check)
    return await model.generate(prompt, RecollectionReply, check=check)


def require_known_numbers(numbers: Iterable[int], shown: Sequence[NumberedItem]) -> None:
    """Raises ValueError where a number is that of nothing that was shown."""
    known = [one.number for one in shown]
    for number in numbers:
        if number not in known:
            raise ValueError(f"there is no evidence {number}; cite of these: {', '.join(map(str, known))}")


def cite_items(numbers: Iterable[int], shown: Sequence[NumberedItem]) -> tuple[Citation, ...]:
    """Citations of what was shown, each once, in the order in which they were named."""
    items = {one.number: one.item for one in shown}
    return tuple(cite(items[number]) for number in dict.fromkeys(numbers))


def select_shown(observations: Sequence[Observation], max_tokens: int | None) -> tuple[NumberedItem, ...]:
    """What a prompt shows of all that was observed, in the order of the numbers, each item once.

    Where not everything fits into so many tokens, the first of each list comes before the second of any, and what was
    found last before what was found earlier.
    """
    ranked = sorted(
        ((one.why.rank, -at, one) for at, found in enumerate(observations) for one in found.items),
        key=lambda entry: entry[:2],
    )
    each = list({one.number: one for _, _, one in reversed(ranked)}.values())[::-1]
    kept = each if max_tokens is None else each[: count_fitting(count_all([one.render for one in each]), max_tokens)]
    return tuple(sorted(kept, key=lambda one: one.number))
