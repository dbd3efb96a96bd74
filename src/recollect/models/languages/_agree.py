"""Coming to an answer that can be used: asking, and asking again with what is wrong with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from recollect.errors import InvalidReply, NoAnswer
from recollect.models.language import Check
from recollect.models.languages._request import Request
from recollect.models.languages.replies import Mistake, answer_in

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a model said, without blanks around it; ``cut`` where a limit of tokens ended it."""

    text: str
    cut: bool = False


async def agreed(
    request: Request[T],
    ask: Callable[[Request[T]], Awaitable[Words]],
    check: Check[T] | None,
    *,
    corrections: int,
    name: str,
    place: str,
    shown: Callable[[str], str] = str,
) -> T:
    """The answer to a request; one that cannot be used is corrected so often.

    Args:
        request: what is asked.
        ask: sends it once.
        check: raises ValueError where the answer breaks an invariant.
        corrections: how often the model is shown what is wrong.
        name: the model's, for an answer that cannot be used.
        place: the model and where it is, for an answer that did not come.
        shown: a text as an error may show it.

    Raises:
        InvalidReply: no answer could be used; carries the last one.
        NoAnswer: the last one was empty.
    """
    mistake, reply = Mistake("it is empty"), ""
    for _ in range(corrections + 1):
        words = await ask(request)
        reply = words.text
        try:
            return _usable(words, request.answer_type, check)
        except Mistake as exc:
            mistake = exc
        request = request.corrected(reply, mistake)
    if not reply:
        raise NoAnswer(f"{place} gave nothing")
    times = corrections + 1
    problem = f"{name} gave no usable answer in {times} {'attempt' if times == 1 else 'attempts'}: {mistake}"
    raise InvalidReply(shown(problem), shown(reply))


def _usable(words: Words, answer_type: type[T], check: Check[T] | None) -> T:
    """The answer in what was said.

    Raises:
        Mistake: there is none that can be used.
    """
    if words.cut:
        raise Mistake("it was cut off, since it is too long; say it in fewer words")
    if not words.text:
        raise Mistake("it is empty")
    return answer_in(words.text, answer_type, check)
