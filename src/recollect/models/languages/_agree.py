"""Ask a model until its answer can be used. Each new try shows the model the mistake."""

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
    """The text of a model without blanks around it. ``cut`` is true if a limit of tokens ended it."""

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
    """Return the answer to a request, after at most ``corrections`` corrections.

    Args:
        request: the request.
        ask: sends the request once.
        check: raises ValueError if the answer breaks an invariant.
        corrections: how many times the model is shown its mistake.
        name: the name of the model, for an answer that cannot be used.
        place: the model and its address, for an answer that did not come.
        shown: makes a text safe for an error message.

    Raises:
        InvalidReply: no answer could be used; the error carries the last answer.
        NoAnswer: the last answer was empty.
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
    """Return the answer in a model's text.

    Raises:
        Mistake: the text has no answer that can be used.
    """
    if words.cut:
        raise Mistake("it was cut off, since it is too long; say it in fewer words")
    if not words.text:
        raise Mistake("it is empty")
    return answer_in(words.text, answer_type, check)
