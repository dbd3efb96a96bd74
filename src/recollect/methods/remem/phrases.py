"""Find which triples a call by phrases means, and handle a phrase that no fact has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from recollect.domain.queries import Scope
from recollect.domain.triples import Aggregation, TriplePattern, fold_phrase
from recollect.methods.remem.arguments import ToolCall
from recollect.store.capabilities import TripleReader
from recollect.store.protocol import EntityTables


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPattern:
    """The pattern of the triples to find. ``note`` says if it differs from the call, or why nothing fits."""

    pattern: TriplePattern
    note: str = ""


def make_pattern(request: ToolCall) -> TriplePattern:
    """Return the pattern of the phrases that a call names."""
    return TriplePattern(
        subjects=_only_phrase(request.subject),
        predicates=_only_phrase(request.predicate),
        objects=_only_phrase(request.object),
    )


async def resolve_pattern(request: ToolCall, reader: TripleReader, scope: Scope) -> ResolvedPattern:
    """Return the pattern to search for: the phrases of the call.

    If no fact has the subject or the object, the other names of that entity take its place.

    Args:
        request: the call.
        reader: the bank.
        scope: the triples to search, ``when`` included. The same scope without ``when`` decides if a phrase is known.
    """
    asked = make_pattern(request)
    if await _count_matches(asked, reader, scope):
        return ResolvedPattern(pattern=asked)
    whenever = replace(scope, when=None)
    subjects, about_subject = await _resolve_phrase("subject", request.subject, reader, whenever)
    objects, about_object = await _resolve_phrase("object", request.object, reader, whenever)
    about_predicate = await _explain_unknown_predicate(request.predicate, reader, whenever)
    pattern = replace(asked, subjects=subjects, objects=objects)
    notes = [note for note in (about_subject, about_predicate, about_object) if note]
    if not notes:
        notes = [await _explain_no_match(asked, reader, scope)]
    return ResolvedPattern(pattern=pattern, note=" ".join(notes))


async def _resolve_phrase(place: str, phrase: str, reader: TripleReader, scope: Scope) -> tuple[tuple[str, ...], str]:
    """Return the phrases to search for in a place. Add a note if no fact has the given phrase there."""
    named = _only_phrase(phrase)
    if not named or await _count_matches(_pattern_for(place, named), reader, scope):
        return named, ""
    others = find_other_names(phrase, await reader.entity_tables())
    found = [name for name in others if await _count_matches(_pattern_for(place, (name,)), reader, scope)]
    if not found:
        return named, f"No fact has the {place} {phrase!r}; the retrieving tools find phrases that facts have."
    meant = " and ".join(map(repr, found))
    return tuple(found), f"No fact has the {place} {phrase!r}; who is called so is also called {meant}: shown for that."


async def _explain_unknown_predicate(phrase: str, reader: TripleReader, scope: Scope) -> str:
    if not phrase or await _count_matches(TriplePattern(predicates=(phrase,)), reader, scope):
        return ""
    return f"No fact has the predicate {phrase!r}; the retrieving tools find predicates that facts have."


async def _explain_no_match(pattern: TriplePattern, reader: TripleReader, scope: Scope) -> str:
    """Return the reason why no fact fits, although each of the phrases is in some fact."""
    if scope.when is None:
        return "Each of the phrases is some fact's, but no fact has all of them."
    count = await _count_matches(pattern, reader, replace(scope, when=None))
    return f"At these times nothing fits; {count} at any time."


def find_other_names(phrase: str, tables: EntityTables) -> tuple[str, ...]:
    """Return the other names of every entity with this name, each once, in the order of the tables."""
    key = fold_phrase(phrase)
    names = [(entity.id, entity.name) for entity in tables.entities] + [(id_, name) for id_, name, _ in tables.aliases]
    meant = {id_ for id_, name in names if fold_phrase(name) == key}
    others = {fold_phrase(name): name for id_, name in reversed(names) if id_ in meant}
    others.pop(key, None)
    return tuple(reversed(others.values()))


def _only_phrase(phrase: str) -> tuple[str, ...]:
    return (phrase,) if phrase else ()


def _pattern_for(place: str, phrases: Iterable[str]) -> TriplePattern:
    return TriplePattern(subjects=tuple(phrases)) if place == "subject" else TriplePattern(objects=tuple(phrases))


async def _count_matches(pattern: TriplePattern, reader: TripleReader, scope: Scope) -> int:
    return await reader.count_triples(pattern, scope, Aggregation.COUNT)
