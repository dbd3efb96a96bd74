"""The tools to search a bank of gists and facts (REMem, section 3.2, table 1), for the responder or for any agent."""

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
"""The weights by which items are found: only their own words and meaning count, and not those of their neighbours."""

FOUND: Final = (ItemKind.GIST, ItemKind.TRIPLE)
"""The kinds of items that a retrieval returns."""

REPEATED: Final = (
    "the very same call was made before, and its observation stands above; change an argument, or take another tool"
)

BY_WORDS: Final = "This memory holds no vectors: gists and facts were looked for by words and not by meaning."

NO_FACTS: Final = "The question leaves facts out by its kinds: none were looked for, and none were counted."

Ranked = Sequence[tuple[Item, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedItems:
    """Items with their scores, the best first, and the number of items that there are in all."""

    items: Ranked = ()
    total: int = 0


def offer_tools(dependencies: Dependencies) -> MakeTools:
    """Return a function that makes REMem's tools for a question. See :data:`recollect.ports.MakeTools`."""

    def make_tools(query: Query, reader: StoreReader) -> Toolkit:
        return Toolkit(reader, dependencies.embedder, query)

    return make_tools


class Toolkit:
    """The paper's five tools over one bank, for one question.

    A gist or fact gets a number when it is first shown, and keeps it for as long as the toolkit lives. Any later call
    may name a gist by its number. Make a new toolkit for each question (:meth:`recollect.Bank.tools`).

    Args:
        reader: the bank.
        embedder: the embedder that made the bank's vectors.
        query: its ``scope`` narrows what every tool finds. Dates are read relative to its ``now``. A retrieval returns
            at most ``limit`` gists and at most ``limit`` facts.
        settings: how much is shown.

    Raises:
        InvalidInput: the scope already compares times, which only the tools' arguments may do.
        MissingCapability: the bank's store keeps no triples.
    """

    def __init__(
        self, reader: StoreReader, embedder: Embedder, query: Query, settings: ToolSettings | None = None
    ) -> None:
        if query.scope.when is not None:
            raise InvalidInput("the scope of a toolkit must not have `when`: the tools set it by their arguments")
        self._reader, self._embedder, self._query = require_triples(reader), embedder, query
        self._settings = settings or ToolSettings()
        self._seen: dict[str, NumberedItem] = {}
        self._done: set[ToolCall] = set()

    @property
    def schemas(self) -> tuple[dict[str, object], ...]:
        """Return the tools as JSON schemas of functions, as OpenAI's chat completions and most frameworks take them."""
        return tuple(one.schema for one in TOOLS)

    @property
    def seen(self) -> tuple[NumberedItem, ...]:
        """Return all items that were shown so far, in the order of their numbers. Each is as it was shown first."""
        return tuple(self._seen.values())

    async def call(self, name: str, arguments: Mapping[str, object]) -> Observation:
        """Make a call as a model has written it.

        No call raises an error because of what the model wrote. If a call cannot be made, or was made before, the
        observation has a :attr:`Observation.correction`.

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
        """Return the gists and the facts that are nearest in meaning to a query.

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
        """Return the gists and the facts that share most of their words with a query (BM25)."""
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
        """Return the gists that are similar to one gist (synonymy edges), and the facts of its chunk (context edges).

        ``gist_id`` is the number with which this toolkit has shown the gist, or the item's id.
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
        """Return the facts with these phrases, or their count.

        The facts come with the gists that context edges join to the shown ones.

        A phrase has to match as a whole, but case and blanks do not matter. If no fact has it as subject or object, the
        other names of the entity with this name are tried. :attr:`Observation.note` then says so.

        The store orders, skips and counts all facts that fit, and not a list that was cut.
        """
        places = {"subject": subject, "object": object, "predicate": predicate}
        which = {"limit": limit, "ordering": ordering, "offset": offset, "aggregation": aggregation}
        times = _time_arguments(start_time, end_time, start_operator, end_operator)
        return await self._run_call(Tool.ENTITY, {**places, **times, **which})

    async def output_answer(self, answer: str) -> Observation:
        """End the search. Nothing is searched for."""
        return await self._run_call(Tool.ANSWER, {"answer": answer})

    async def _run_call(self, name: str, arguments: Mapping[str, object], *, again: bool = True) -> Observation:
        """Parse a call and make it. ``again`` allows a call that was made before."""
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
        """Return the call with the id of the gist that it names.

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
        """Return the probe of a retrieval.

        It has only a vector or only words: the other half costs time and is not used.
        """
        if request.tool is Tool.LEXICAL:
            nowhere = np.zeros(self._embedder.dimension, dtype=np.float32)
            return SearchProbe(topic=request.query, vector=nowhere, terms=np.unique(extract_terms(request.query)))
        vectors = await self._embedder.embed([request.query], purpose="query")
        return SearchProbe(topic=request.query, vector=vectors[0], terms=np.empty(0, dtype=np.uint32))

    async def _search_kind(self, probe: SearchProbe, request: ToolCall) -> dict[ItemKind, RankedItems]:
        """Return the best gists and the best facts from one search.

        A kind that the question leaves out is not searched.
        """
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
        """Return the nearest of the items that edges join to the given ones, and how many there are in all."""
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
        """Return the count from the store, and some of the counted facts, so that an answer can rest on them."""
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
        """Return how many facts are shown. If they are only counted, it is the number that a retrieval shows."""
        shown = self._settings.explored if request.aggregation is None else self._settings.retrieved
        return shown if request.limit is None else request.limit

    def _scope_for(self, kind: ItemKind, when: TimeFilter | None) -> Scope | None:
        """Return the scope in which a kind is searched, or ``None`` if the question leaves that kind out."""
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
        """Return items with their numbers. A new item gets the next number."""
        shown = []
        for rank, (item, score) in enumerate(items, start=1):
            first = self._seen.get(item.id)
            number = first.number if first else len(self._seen) + 1
            one = NumberedItem(number=number, item=item, why=ArmRank(arm=tool.value, rank=rank, score=score))
            self._seen.setdefault(item.id, one)
            shown.append(one)
        return tuple(shown)


def _load_page(hits: Hits, items: Mapping[int, Item]) -> RankedItems:
    """Return the items that were found, with their scores."""
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
