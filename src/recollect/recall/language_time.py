"""Read times with a language model: one short, typed call for a question whose time the rules could not read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, Final

from recollect.domain.time import Interval
from recollect.models.language import LanguageModel, ModelRole, Prompt
from recollect.models.time_reader import make_day_range
from recollect.text.fencing import DATA_RULE, fence_text

OPERATION: Final = "recall.time"

_SYSTEM: Final = (
    "You read which calendar days a question asks about, so that notes of those days can be looked up. "
    "Count relative words from the day given as today. Give the first and the last day as YYYY-MM-DD; one day is both "
    "first and last, a month or a season is all its days. Where the words are vague, take the widest stretch that they "
    "plainly mean. Set found to false, and give no days, where the question asks about no time, where its time hangs "
    "on an event whose day you are not told, or where the question asks for the time itself. "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeReply:
    """The days a question asks about.

    Raises:
        ValueError: a day is missing or is not a day of the calendar, or the last day comes before the first.
    """

    __pydantic_config__: ClassVar = {"title": "TimeRead"}  # its name in requests to a model, recorded ones too

    found: bool = field(metadata={"description": "whether the question asks about days that can be told"})
    start: str | None = field(default=None, metadata={"description": "the first day, YYYY-MM-DD"})
    end: str | None = field(default=None, metadata={"description": "the last day, YYYY-MM-DD"})

    def __post_init__(self) -> None:
        if self.found and self.days[1] < self.days[0]:
            raise ValueError(f"end ({self.end}) comes before start ({self.start})")

    @property
    def days(self) -> tuple[date, date]:
        """Return the first and the last day.

        Raises:
            ValueError: a day is missing or is not a day of the calendar.
        """
        return _parse_day("start", self.start), _parse_day("end", self.end)


class LanguageTimeReader:
    """Reads times with a language model in the role ``assist``."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    async def read(self, question: str, now: datetime) -> Interval | None:
        """Return the days that a question asks about, in the zone of ``now``, or ``None`` if it asks about none.

        Raises:
            InvalidReply: no reply of the model was valid.
            LimitReached: the granted tokens are used up.
            ModelUnavailable: the model could not be reached.
        """
        reply = await self._model.generate(build_time_prompt(question, now), TimeReply)
        return make_day_range(*reply.value.days, now.tzinfo) if reply.value.found else None


def build_time_prompt(question: str, now: datetime) -> Prompt:
    """Return the prompt with the current date, its weekday, and the question."""
    return Prompt(
        role=ModelRole.ASSIST,
        operation=OPERATION,
        subject=question,
        system=_SYSTEM + DATA_RULE,
        text=f"Today is {now:%A}, {now:%Y-%m-%d}.\n\n{fence_text('question', question)}",
    )


def _parse_day(name: str, text: str | None) -> date:
    if not text:
        raise ValueError(f"{name} is missing; give it, or set found to false")
    try:
        return date.fromisoformat(text)
    except ValueError as exc:
        raise ValueError(f"{name} is {text!r}; give a day as YYYY-MM-DD") from exc
