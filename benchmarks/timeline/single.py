"""The baseline with one retrieval: the same planner over only the ten facts that BM25 finds for a question."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Final, Unpack

from benchmarks.timeline.planner import Arguments
from recollect.domain.triples import Comparison, TimeFilter, Triple, fold_phrase
from recollect.domain.validity import Validity, matches_filter, validity_of
from recollect.methods.remem.observations import NumberedItem, Observation
from recollect.methods.remem.tools import Toolkit
from recollect.text.time_expressions.iso import parse_iso_date


class OneRetrieval:
    """The planner's tools over the facts that one search with the question's words found. All calls use only these
    facts.
    """

    def __init__(self, tools: Toolkit, question: str) -> None:
        self._tools, self._question = tools, question
        self._found: tuple[NumberedItem, ...] | None = None

    async def find_entity_contexts(self, **arguments: Unpack[Arguments]) -> Observation:
        """Return the retrieved facts that fit, in the form of the real tool."""
        if self._found is None:
            self._found = (await self._tools.lexical_retrieve(query=self._question)).facts
        fitting = _ordered([one for one in self._found if _fits(one, arguments)], arguments.get("ordering"))
        offset = arguments.get("offset", 0)
        return Observation(
            tool="find_entity_contexts",
            arguments=dict(arguments),
            facts=tuple(fitting[offset : offset + arguments.get("limit", len(fitting))]),
            facts_total=len(fitting),
            number=_number(fitting, arguments.get("aggregation")),
        )

    async def output_answer(self, answer: str) -> Observation:
        return await self._tools.output_answer(answer)


_PLACES: Final[tuple[tuple[str, Callable[[Triple], str]], ...]] = (
    ("subject", lambda triple: triple.subject),
    ("predicate", lambda triple: triple.predicate),
    ("object", lambda triple: triple.object),
)


def _fits(one: NumberedItem, arguments: Arguments) -> bool:
    wanted = {name: value for name, value in arguments.items() if value is not None}
    same = all(
        name not in wanted or fold_phrase(of(_triple(one))) == fold_phrase(str(wanted[name])) for name, of in _PLACES
    )
    return same and matches_filter(validity_of(one.item), _filter(arguments))


def _filter(arguments: Arguments) -> TimeFilter:
    start, end = arguments.get("start_time"), arguments.get("end_time")
    return TimeFilter(
        start=parse_iso_date(start, UTC) if start else None,
        start_operator=Comparison(arguments.get("start_operator", "ge")),
        end=parse_iso_date(end, UTC) if end else None,
        end_operator=Comparison(arguments.get("end_operator", "le")),
    )


def _ordered(facts: list[NumberedItem], ordering: str | None) -> list[NumberedItem]:
    def by_start(when: Validity) -> tuple[int, int]:
        return when.start[0], when.end[0]

    def by_end(when: Validity) -> tuple[int, int]:
        return when.end[1], when.start[1]

    if ordering is None:
        return facts
    latest = ordering == "desc"
    key = by_end if latest else by_start
    return sorted(facts, key=lambda one: key(validity_of(one.item)), reverse=latest)


def _number(facts: list[NumberedItem], aggregation: str | None) -> int | None:
    if aggregation is None or aggregation == "count":
        return None if aggregation is None else len(facts)
    place = "subject" if aggregation == "count_unique_subjects" else "object"
    return len({fold_phrase(getattr(_triple(one), place)) for one in facts})


def _triple(one: NumberedItem) -> Triple:
    assert one.item.triple is not None
    return one.item.triple
