"""The tools over a bank of gists and facts (REMem, section 3.2, table 1): for the responder, or for any agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from recollect.domain.items import Item, ItemKind
from recollect.domain.links import LinkKind
from recollect.domain.queries import Query, Scope, SearchProbe
from recollect.domain.recalls import ArmRank
from recollect.domain.signals import Weights
from recollect.domain.triples import TimeFilter
from recollect.errors import InvalidInput
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.arguments import InvalidCall, ToolCall, drop_blank_arguments, parse_call
from recollect.methods.remem.observations import NumberedItem, Observation
from recollect.methods.remem.phrases import ResolvedPattern, make_pattern, resolve_pattern
from recollect.methods.remem.schemas import TOOLS, Tool
from recollect.methods.remem.scope import is_in_scope
from recollect.methods.remem.settings import ToolSettings
from recollect.models.embedder import Embedder
from recollect.ports import MakeTools
from recollect.store.capabilities import require_triples
from recollect.store.protocol import StoreReader
from recollect.store.search import Hits
from recollect.text.terms import extract_terms

RESERVED_ARGUMENTS: Final = Weights(passage=0.0, session=0.0, surroundings=0.0)
"""What items are found by: their own words and their own meaning, and not their neighbours'."""

FOUND: Final = (ItemKind.GIST, ItemKind.TRIPLE)
"""What a retrieval brings."""

REPEATED: Final = (
    "the very same call was made before, and its observation stands above; change an argument, or take another tool"
)

BY_WORDS: Final = "This memory holds no vectors: gists and facts were looked for by words and not by meaning."

NO_FACTS: Final = "The question leaves facts out by its kinds: none were looked for, and none were counted."

Ranked = Sequence[tuple[Item, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedItems:
    """Items with how well they fit, best first, and how many there are in all."""

    items: Ranked = ()
    total: int = 0


def offer_tools(dependencies: Dependencies) -> MakeTools:
    """Return what makes REMem's tools for a question. See :data:`recollect.ports.MakeTools`."""

    def make_tools(query: Query, reader: StoreReader) -> Toolkit:
        return Toolkit(reader, dependencies.embedder, query)

    return make_tools


class Toolkit:
    """The paper's five tools over one bank, for one question.

    A gist or fact gets a number when it is first shown, and keeps it for as long as the toolkit lives: any later call
    may name a gist by it. Make a new toolkit for each question (:meth:`recollect.Bank.tools`).

    Args:
        reader: the bank.
        embedder: the one that its vectors come from.
        query: its ``scope`` narrows whatever a tool finds, its ``now`` is what dates are read against; a retrieval
            brings no more gists, and no more facts, than its ``limit``.
        settings: how much is shown.

    Raises:
        InvalidInput: the scope compares times already, which is what the tools' arguments do.
        MissingCapability: the bank's store keeps no triples.
    """

    def __init__(
        self, reader: StoreReader, embedder: Embedder, query: Query, settings: ToolSettings | None = None
    ) -> None:
        if query.scope.when is not None:
            raise InvalidInput("the scope of a toolkit has no `when` of its own: the tools set it by their arguments")
        self._reader, self._embedder, self._query = require_triples(reader), embedder, query
        self._settings = settings or ToolSettings()
        self._seen: dict[str, NumberedItem] = {}
        self._done: set[ToolCall] = set()

    @property
    def schemas(self) -> tuple[dict[str, object], ...]:
        """The tools as JSON schemas of functions, as OpenAI's chat completions and most frameworks take them."""
        return tuple(one.schema for one in TOOLS)

    @property
    def seen(self) -> tuple[NumberedItem, ...]:
        """All that was shown so far, in the order of the numbers, each as it was shown first."""
        return tuple(self._seen.values())

    async def call(self, name: str, arguments: Mapping[str, object]) -> Observation:
        """Make a call as a model has written it.

        Whatever it wrote, there is no error: a call that cannot be made, or was made before, is answered with a
        :attr:`Observation.correction`.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        return await self._run_call(name, arguments, again=False)

    async def semantic_retrieve(
        self,
        query: str,
        *,
        start_time: str | None = None,
        end_time: str | None = None,
        start_operator: str | None = None,
        end_operator: str | None = None,
    ) -> Observation:
        """The gists and the facts that are nearest in meaning to a query.

        Raises:
            ModelUnavailable: the embedder could not be reached.
        """
        times = _time_arguments(start_time, end_time, start_operator, end_operator)
        return await self._run_call(Tool.SEMANTIC, {"query": query, **times})

    async def lexical_retrieve(
        self,
        query: str,
        *,
        start_time: str | None = None,
        end_time: str | None = None,
        start_operator: str | None = None,
        end_operator: str | None = None,
    ) -> Observation:
        """The gists and the facts that share most of their words with a query (BM25)."""
        times = _time_arguments(start_time, end_time, start_operator, end_operator)
        return await self._run_call(Tool.LEXICAL, {"query": query, **times})

    async def find_gist_contexts(
        self,
        gist_id: int | str,
        *,
        start_time: str | None = None,
        end_time: str | None = None,
        start_operator: str | None = None,
        end_operator: str | None = None,
    ) -> Observation:
        """The gists that tell of much the same as one (synonymy edges), and the facts of its chunk (context edges).

        ``gist_id`` is the number that this toolkit has shown it with, or the item's id.
        """
        times = _time_arguments(start_time, end_time, start_operator, end_operator)
        return await self._run_call(Tool.GIST, {"gist_id": gist_id, **times})

    async def find_entity_contexts(
        self,
        *,
        subject: str | None = None,
        object: str | None = None,  # noqa: A002 - the paper's name
        predicate: str | None = None,
        start_time: str | None = None,
        end_time: str | None = None,
        start_operator: str | None = None,
        end_operator: str | None = None,
        limit: int | None = None,
        ordering: str | None = None,
        offset: int | None = None,
        aggregation: str | None = None,
    ) -> Observation:
        """The facts with these phrases, and the gists that context edges join to those shown; or how many there are.

        A phrase is met whole, whatever its case and blanks. Where no fact has one, the other names of the entity that
        is called so are tried, and :attr:`Observation.note` says so. All facts come from the store: their order, what
        is left out before them, and what is counted, are of all that fit, and not of a list that was cut.
        """
        places = {"subject": subject, "object": object, "predicate": predicate}
        which = {"limit": limit, "ordering": ordering, "offset": offset, "aggregation": aggregation}
        times = _time_arguments(start_time, end_time, start_operator, end_operator)
        return await self._run_call(Tool.ENTITY, {**places, **times, **which})

    async def output_answer(self, answer: str) -> Observation:
        """Say that the search is over; nothing is looked for."""
        return await self._run_call(Tool.ANSWER, {"answer": answer})

    async def _run_call(self, name: str, arguments: Mapping[str, object], *, again: bool = True) -> Observation:
        """Understand a call and make it; ``again`` says that it may be one that was made before."""
        try:
            said = drop_blank_arguments(arguments)
        except InvalidCall as exc:
            return Observation(tool=name, arguments={}, correction=str(exc))
        try:
            request = await self._resolve_gist(parse_call(name, said, self._query.now))
            if request in self._done and not again:
                raise InvalidCall(REPEATED)
        except InvalidCall as exc:
            return Observation(tool=name, arguments=said, correction=str(exc))
        observation = await self._execute(request)
        self._done.add(request)
        return replace(observation, arguments=said)

    async def _execute(self, request: ToolCall) -> Observation:
        match request.tool:
            case Tool.SEMANTIC | Tool.LEXICAL:
                return await self._retrieve(request)
            case Tool.GIST:
                return await self._explore_gist(request)
            case Tool.ENTITY if request.aggregation is None:
                return await self._list_facts(request)
            case Tool.ENTITY:
                return await self._count_facts(request)
            case Tool.ANSWER:
                return Observation(tool=request.tool, arguments={}, note="The search is over.")

    async def _resolve_gist(self, request: ToolCall) -> ToolCall:
        """The call with the gist that it names by its id.

        Raises:
            Misunderstood: no gist has this number or id.
        """
        if request.tool is not Tool.GIST:
            return request
        if isinstance(request.gist, str):
            found = [item for item in await self._reader.items([request.gist]) if item.kind is ItemKind.GIST]
            if not found or not is_in_scope(found[0], self._query.scope):
                raise InvalidCall(f"there is no gist {request.gist!r}; {self._describe_gists()}")
            return request
        numbered = next((one for one in self.seen if one.number == request.gist), None)
        if numbered is None or numbered.item.kind is not ItemKind.GIST:
            what = "is a fact and no gist" if numbered else "was never shown"
            raise InvalidCall(f"number {request.gist} {what}; {self._describe_gists()}")
        return replace(request, gist=numbered.item.id)

    def _describe_gists(self) -> str:
        numbers = [str(one.number) for one in self.seen if one.item.kind is ItemKind.GIST]
        return f"the gists so far are {', '.join(numbers)}" if numbers else "no gist was shown so far: retrieve first"

    async def _retrieve(self, request: ToolCall) -> Observation:
        if request.tool is Tool.SEMANTIC and not self._embedder.dimension:
            by_words = await self._retrieve(replace(request, tool=Tool.LEXICAL))
            return replace(by_words, tool=request.tool, note=" ".join(filter(None, (BY_WORDS, by_words.note))))
        probe = await self._make_probe(request)
        if not (probe.vector.any() or probe.terms.size):
            return self._observe(
                request, RankedItems(), RankedItems(), note="The query has no words that can be looked for."
            )
        found = await self._search_kind(probe, request)
        return self._observe(
            request, found.get(ItemKind.GIST, RankedItems()), found.get(ItemKind.TRIPLE, RankedItems())
        )

    async def _make_probe(self, request: ToolCall) -> SearchProbe:
        """What is looked for; the other tool's half of it is left empty, since it costs time and is not used."""
        if request.tool is Tool.LEXICAL:
            nowhere = np.zeros(self._embedder.dimension, dtype=np.float32)
            return SearchProbe(topic=request.query, vector=nowhere, terms=np.unique(extract_terms(request.query)))
        vectors = await self._embedder.embed([request.query], purpose="query")
        return SearchProbe(topic=request.query, vector=vectors[0], terms=np.empty(0, dtype=np.uint32))

    async def _search_kind(self, probe: SearchProbe, request: ToolCall) -> dict[ItemKind, RankedItems]:
        """Return the best gists and the best facts, by one search; nothing of a kind that the question leaves out."""
        kinds = [kind for kind in FOUND if self._scope_for(kind, request.when) is not None]
        if not kinds:
            return {}
        scope = replace(self._query.scope, when=request.when)
        search = await self._reader.search(probe, scope, RESERVED_ARGUMENTS, [(kind,) for kind in kinds])
        count = min(self._settings.retrieved, self._query.limit)
        hits = await (search.semantic(count) if request.tool is Tool.SEMANTIC else search.lexical(count))
        items = dict(await search.load(hits.refs))
        return {kind: _load_page(part, items) for kind, part in zip(kinds, hits.by_tier(), strict=True)}

    async def _explore_gist(self, request: ToolCall) -> Observation:
        gist = [str(request.gist)]
        gists = await self._load_linked(gist, LinkKind.SYNONYMY, ItemKind.GIST, request)
        facts = await self._load_linked(gist, LinkKind.CONTEXT, ItemKind.TRIPLE, request)
        return self._observe(request, gists, facts)

    async def _load_linked(
        self, items: Sequence[str], link: LinkKind, kind: ItemKind, request: ToolCall
    ) -> RankedItems:
        """What edges join to items, the nearest of it, and how much there is."""
        scope = self._scope_for(kind, request.when)
        if scope is None or not items:
            return RankedItems()
        found = await self._reader.linked(items, [link], scope)
        return RankedItems(items=found[: self._settings.retrieved], total=len(found))

    async def _list_facts(self, request: ToolCall) -> Observation:
        meant = await self._resolve_pattern(request)
        facts = await self._load_facts(request, meant)
        gists = await self._load_linked([item.id for item, _ in facts.items], LinkKind.CONTEXT, ItemKind.GIST, request)
        return self._observe(request, gists, facts, note=meant.note)

    async def _count_facts(self, request: ToolCall) -> Observation:
        """The count, from the store, and some of what was counted, so that an answer can rest on it."""
        meant = await self._resolve_pattern(request)
        facts = await self._load_facts(request, meant)
        scope = self._scope_for(ItemKind.TRIPLE, request.when)
        assert request.aggregation is not None
        number = await self._reader.count_triples(meant.pattern, scope, request.aggregation) if scope else 0
        return replace(self._observe(request, RankedItems(), facts, note=meant.note), number=number)

    async def _resolve_pattern(self, request: ToolCall) -> ResolvedPattern:
        scope = self._scope_for(ItemKind.TRIPLE, request.when)
        if scope is None:
            return ResolvedPattern(pattern=make_pattern(request), note=NO_FACTS)
        return await resolve_pattern(request, self._reader, scope)

    async def _load_facts(self, request: ToolCall, meant: ResolvedPattern) -> RankedItems:
        scope = self._scope_for(ItemKind.TRIPLE, request.when)
        if scope is None:
            return RankedItems()
        page = await self._reader.triples(
            meant.pattern, scope, ordering=request.ordering, limit=self._choose_limit(request), offset=request.offset
        )
        return RankedItems(items=[(item, 1.0) for item in page.items], total=page.total)

    def _choose_limit(self, request: ToolCall) -> int:
        """How much is shown; of what was only to be counted, as much as a retrieval shows."""
        shown = self._settings.explored if request.aggregation is None else self._settings.retrieved
        return shown if request.limit is None else request.limit

    def _scope_for(self, kind: ItemKind, when: TimeFilter | None) -> Scope | None:
        """Where a kind is looked for; ``None`` where the question leaves that kind out."""
        scope = self._query.scope
        return replace(scope, kinds=(kind,), when=when) if not scope.kinds or kind in scope.kinds else None

    def _observe(self, request: ToolCall, gists: RankedItems, facts: RankedItems, *, note: str = "") -> Observation:
        return Observation(
            tool=request.tool,
            arguments={},
            gists=self._number_items(request.tool, gists.items),
            facts=self._number_items(request.tool, facts.items),
            gists_total=gists.total,
            facts_total=facts.total,
            note=note,
        )

    def _number_items(self, tool: Tool, items: Ranked) -> tuple[NumberedItem, ...]:
        """Items with their numbers: the ones that they have, or the next ones."""
        shown = []
        for rank, (item, score) in enumerate(items, start=1):
            first = self._seen.get(item.id)
            number = first.number if first else len(self._seen) + 1
            one = NumberedItem(number=number, item=item, why=ArmRank(arm=tool.value, rank=rank, score=score))
            self._seen.setdefault(item.id, one)
            shown.append(one)
        return tuple(shown)


def _load_page(hits: Hits, items: Mapping[int, Item]) -> RankedItems:
    """Return what was found, with its scores."""
    scored = zip(hits.refs.tolist(), hits.scores.tolist(), strict=True)
    found = [(items[ref], score) for ref, score in scored if ref in items]
    return RankedItems(items=found, total=len(found))


def _time_arguments(
    start_time: str | None, end_time: str | None, start_operator: str | None, end_operator: str | None
) -> dict[str, object]:
    return {
        "start_time": start_time,
        "end_time": end_time,
        "start_operator": start_operator,
        "end_operator": end_operator,
    }
