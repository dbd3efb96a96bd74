"""The tools' names and arguments are the paper's, in the schemas, in the methods and in the prompt."""

import inspect
import json

from toolbank import choir, query, tools

from recollect.methods.remem.prompts import build_step_prompt
from recollect.methods.remem.schemas import TOOLS
from recollect.methods.remem.tools import Toolkit

TIMES = ["start_time", "end_time", "start_operator", "end_operator"]
TABLE_1 = {
    "semantic_retrieve": ["query", *TIMES],
    "lexical_retrieve": ["query", *TIMES],
    "find_gist_contexts": ["gist_id", *TIMES],
    "find_entity_contexts": [
        "subject", "object", "predicate", *TIMES, "limit", "ordering", "offset", "aggregation",
    ],
    "output_answer": ["answer"],
}  # fmt: skip
NEEDED = {
    "semantic_retrieve": ["query"],
    "lexical_retrieve": ["query"],
    "find_gist_contexts": ["gist_id"],
    "find_entity_contexts": [],
    "output_answer": ["answer"],
}


async def schemas():
    async with choir() as store:
        return tools(store).schemas


async def test_the_schemas_have_the_papers_names_and_arguments_in_its_order():
    functions = [one["function"] for one in await schemas()]
    assert {one["name"]: list(one["parameters"]["properties"]) for one in functions} == TABLE_1
    assert {one["name"]: one["parameters"]["required"] for one in functions} == NEEDED


async def test_a_schema_is_plain_json_that_allows_nothing_else():
    for one in await schemas():
        assert json.loads(json.dumps(one)) == one
        assert one["type"] == "function"
        assert one["function"]["parameters"]["additionalProperties"] is False
        assert all(told["description"] for told in one["function"]["parameters"]["properties"].values())


async def test_the_choices_are_those_of_figure_8():
    properties = (await schemas())[3]["function"]["parameters"]["properties"]
    assert properties["start_operator"]["enum"] == properties["end_operator"]["enum"] == ["lt", "le", "eq", "ge", "gt"]
    assert properties["ordering"]["enum"] == ["asc", "desc"]
    assert properties["aggregation"]["enum"] == ["count", "count_unique_subjects", "count_unique_objects"]
    assert properties["limit"]["type"] == properties["offset"]["type"] == "integer"


async def test_what_a_caller_does_to_a_schema_stays_with_the_caller():
    async with choir() as store:
        kit = tools(store)
        kit.schemas[0]["function"]["parameters"]["properties"].clear()
        assert list(kit.schemas[0]["function"]["parameters"]["properties"]) == TABLE_1["semantic_retrieve"]


def test_the_methods_take_the_same_arguments():
    for name, arguments in TABLE_1.items():
        assert set(inspect.signature(getattr(Toolkit, name)).parameters) - {"self"} == set(arguments)


def test_an_argument_means_the_same_whichever_tool_takes_it():
    told = {}
    for tool in TOOLS:
        for argument in tool.arguments:
            assert told.setdefault(argument.name, argument.description) == argument.description


def test_the_prompt_tells_every_tool_and_every_argument():
    system = build_step_prompt(query(), (), (), 1, 3).system
    for name, arguments in TABLE_1.items():
        assert f"- {name}({', '.join(arguments)}): " in system
        assert all(f"- {argument}: " in system for argument in arguments)
