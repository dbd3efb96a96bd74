"""Ask a model until its answer can be used. Each new try shows the model the mistake."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from recollect.errors import InvalidReply, NoAnswer
from recollect.models.language import ReplyCheck
from recollect.models.languages._request import ModelRequest
from recollect.models.languages.replies import ReplyMistake, parse_answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """The text of a model without blanks around it. ``is_cut`` is true if a limit of tokens ended it."""

    text: str
    is_cut: bool = False


async def ask_until_valid(
    request: ModelRequest[T],
    ask: Callable[[ModelRequest[T]], Awaitable[RawReply]],
    check: ReplyCheck[T] | None,
    *,
    corrections: int,
    name: str,
    place: str,
    render_error: Callable[[str], str] = str,
) -> T:
    """Return the answer to a request, after at most ``corrections`` corrections.

    Args:
        request: the request.
        ask: sends the request once.
        check: raises ValueError if the answer breaks an invariant.
        corrections: how many times the model is shown its mistake.
        name: the name of the model, for an answer that cannot be used.
        place: the model and its address, for an answer that did not come.
        render_error: makes a text safe for an error message.

    Raises:
        InvalidReply: no answer could be used; the error carries the last answer.
        NoAnswer: the last answer was empty.
    """
    mistake, reply = ReplyMistake("it is empty"), ""
    for _ in range(corrections + 1):
        words = await ask(request)
        reply = words.text
        try:
            return _parse_valid(words, request.answer_type, check)
        except ReplyMistake as exc:
            mistake = exc
        request = request.with_correction(reply, mistake)
    if not reply:
        raise NoAnswer(f"{place} gave nothing")
    times = corrections + 1
    problem = f"{name} gave no usable answer in {times} {'attempt' if times == 1 else 'attempts'}: {mistake}"
    raise InvalidReply(render_error(problem), render_error(reply))


def _parse_valid(words: RawReply, answer_type: type[T], check: ReplyCheck[T] | None) -> T:
    """Return the answer in a model's text.

    Raises:
        Mistake: the text has no answer that can be used.
    """
    if words.is_cut:
        raise ReplyMistake("it was cut off, since it is too long; say it in fewer words")
    if not words.text:
        raise ReplyMistake("it is empty")
    return parse_answer(words.text, answer_type, check)
