"""Plan the agent's search: its decision at each step, and the number of steps (REMem, section 4.4, Algorithm 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import ClassVar, Final, Literal

from recollect.methods.remem.arguments import drop_blank_arguments
from recollect.methods.remem.settings import ReactSettings

OUTPUT_TOOL: Final = "output_answer"

ToolName = Literal[
    "semantic_retrieve", "lexical_retrieve", "find_gist_contexts", "find_entity_contexts", "output_answer"
]

# Words of questions that count, measure, order or compare events. "Last week" only says when.
_REASONING: Final = re.compile(
    r"\bhow (?:many|often|long|much (?:time|longer|later|earlier|older|younger))\b|\bnumber of\b|\bcount\b|\btotal\b"
    r"|\b(?:before|after|between|during|while|since|until|till|prior to|following|overlap\w*)\b"
    r"|\bat the (?:same )?time\b|\bby the time\b"
    r"|\b(?:first|second|third|fourth|fifth|\d+(?:st|nd|rd|th) time|final|next|previous|preceding|subsequent)\b"
    r"|\blast(?! (?:night|week|weekend|month|year|spring|summer|autumn|fall|winter|name|\w+day)\b)"
    r"|\b(?:earliest|latest|oldest|newest|longest|shortest|most recent\w*)\b"
    r"|\b(?:earlier|later|sooner|longer|shorter|consecutive\w*|successive\w*|succeed\w*)\b"
    r"|\b(?:order|chronolog\w*|timeline|sequence|duration)\b",
    re.I,
)


def count_steps(question: str, settings: ReactSettings) -> int:
    """Return the number of steps for a question.

    Questions that count, measure, order or relate events get the number for reasoning.

    "When did Ada move?" needs only recollection. "Where did Ada live before she moved?" and "How many times did she
    move?" need reasoning.
    """
    return settings.reasoning if _REASONING.search(question) else settings.recollecting


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A thought, a tool, and the arguments of its call. Arguments that the tool does not take stay empty."""

    __pydantic_config__: ClassVar = {"title": "Planned"}  # its name in requests to a model, recorded ones too

    thought: str
    tool: ToolName
    query: str = ""
    gist_id: int | None = None
    subject: str = ""
    object: str = ""
    predicate: str = ""
    start_time: str = ""
    end_time: str = ""
    start_operator: str = ""
    end_operator: str = ""
    limit: int | None = None
    ordering: str = ""
    offset: int | None = None
    aggregation: str = ""
    answer: str = ""


def list_arguments(planned: PlannedCall) -> dict[str, object]:
    """Return the arguments of the planned call. A number that is 0 counts as left out."""
    names = [one.name for one in fields(planned) if one.name not in ("thought", "tool")]
    return drop_blank_arguments({name: getattr(planned, name) or None for name in names})
