"""Describe the tools to a model: names, arguments, and JSON schemas (REMem, table 1, figures 6 to 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from recollect.domain.triples import Aggregation, Comparison, Ordering


class Tool(StrEnum):
    """The names of the paper's five tools."""

    SEMANTIC = "semantic_retrieve"
    LEXICAL = "lexical_retrieve"
    GIST = "find_gist_contexts"
    ENTITY = "find_entity_contexts"
    ANSWER = "output_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a tool. ``choices`` are all its possible values. It is empty if any value is possible."""

    name: str
    type: Literal["string", "integer"] = "string"
    description: str
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def schema(self) -> dict[str, object]:
        """Return the argument as a JSON schema."""
        told: dict[str, object] = {"type": self.type, "description": self.description}
        return {**told, "enum": list(self.choices)} if self.choices else told


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescription:
    """A tool with its purpose and its arguments."""

    tool: Tool
    description: str
    arguments: tuple[Argument, ...]

    @property
    def schema(self) -> dict[str, object]:
        """Return the tool as a function in the format of OpenAI's chat completions. Each call returns a new value."""
        parameters: dict[str, object] = {
            "type": "object",
            "properties": {one.name: one.schema for one in self.arguments},
            "required": [one.name for one in self.arguments if one.required],
            "additionalProperties": False,
        }
        function = {"name": self.tool.value, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


_TIMES: Final = (
    Argument(
        name="start_time",
        description="Compared with when a gist or fact begins, by start_operator. A date, whole or in part: 2023, "
        "2023-07, 2023-07-09, May 2023, the 1950s.",
    ),
    Argument(name="end_time", description="Compared with when a gist or fact ends, by end_operator. A date as above."),
    Argument(
        name="start_operator",
        description="How the beginning has to stand to start_time: lt before, le not after, eq at, ge not before, gt "
        "after. ge where left out; of no effect without start_time.",
        choices=tuple(Comparison),
    ),
    Argument(
        name="end_operator",
        description="How the end has to stand to end_time, with the same operators. le where left out; of no effect "
        "without end_time.",
        choices=tuple(Comparison),
    ),
)

_QUERY: Final = Argument(name="query", description="The words to look for.", required=True)

TOOLS: Final = (
    ToolDescription(
        tool=Tool.SEMANTIC,
        description="Find the gists and the facts that are nearest in meaning to a query. Gives the best of both. The "
        "tool to begin with, unless names or identifiers are looked for.",
        arguments=(_QUERY, *_TIMES),
    ),
    ToolDescription(
        tool=Tool.LEXICAL,
        description="Find the gists and the facts that share most of their words with a query (BM25). Gives the best "
        "of both. For names, identifiers and exact terms.",
        arguments=(_QUERY, *_TIMES),
    ),
    ToolDescription(
        tool=Tool.GIST,
        description="Look around one gist: the gists that tell of much the same, and the facts of the same stretch of "
        "conversation.",
        arguments=(
            Argument(
                name="gist_id",
                type="integer",
                description="The number of a gist, as any observation so far has shown it in brackets.",
                required=True,
            ),
            *_TIMES,
        ),
    ),
    ToolDescription(
        tool=Tool.ENTITY,
        description="Find the facts (subject, predicate, object) whose phrases are exactly these, with the gists that "
        "belong to them, or count them. At least one of subject, predicate and object is needed. Finds all there are, "
        "and tells how many, so that it can list, order and count where the retrieving tools only give the best.",
        arguments=(
            Argument(name="subject", description="The whole phrase that is the subject, such as 'Ada'."),
            Argument(name="object", description="The whole phrase that is the object, such as 'the choir'."),
            Argument(name="predicate", description="The whole phrase between the two, such as 'sang in'."),
            *_TIMES,
            Argument(
                name="limit",
                type="integer",
                description="At most so many results; with ordering, the first or the last ones. Leave it out to see "
                "as many as are shown at all.",
            ),
            Argument(
                name="ordering",
                description="asc: by when they begin, the earliest first. desc: by when they end, the latest first.",
                choices=tuple(Ordering),
            ),
            Argument(
                name="offset",
                type="integer",
                description="Leave out the first so many; with ordering and a limit of 1, the one in that place: 1 for "
                "the second.",
            ),
            Argument(
                name="aggregation",
                description="Count all facts that fit, or their different subjects or objects. Limit and offset do not "
                "narrow what is counted.",
                choices=tuple(Aggregation),
            ),
        ),
    ),
    ToolDescription(
        tool=Tool.ANSWER,
        description="Give the answer and end the search, once enough is known or no search is likely to find more.",
        arguments=(
            Argument(
                name="answer",
                description="The answer, as short as the question allows, in the form that it asks for.",
                required=True,
            ),
        ),
    ),
)


def describe_tool(tool: Tool) -> ToolDescription:
    """Return the description of a tool for a model."""
    return next(one for one in TOOLS if one.tool is tool)
