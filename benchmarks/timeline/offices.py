"""Make a graph like those of encyclopedias, without its names: offices, awards, memberships."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Final

from benchmarks.timeline.facts import Fact

TRIES: Final = 50


def strewn_offices(names: Sequence[str], relations: Sequence[str], wanted: int, span: range, rng: Random) -> list[Fact]:
    """Return about ``wanted`` facts of three kinds. Each kind has its own relations.

    Offices of an institution are held in succession, and some entities come back to them. An award goes to one entity
    at a time, and has a point in time. Memberships overlap, and some still go on. The first third of ``names`` are
    institutions.
    """
    institutions, people = names[: len(names) // 3], names[len(names) // 3 :]
    held, won, joined = relations[:2], relations[2:4], relations[4:]
    facts: list[Fact] = []
    offices = [(relation, where) for relation in held for where in institutions]
    for relation, where in offices:
        facts += _succession(relation, where, people, wanted // (2 * len(offices)), span, rng)
    awards = [(relation, where) for relation in won for where in institutions[:2]]
    for relation, where in awards:
        facts += _awards(relation, where, people, wanted // (6 * len(awards)), span, rng)
    for _ in range(TRIES * wanted):
        if len(facts) >= wanted:
            break
        member = _membership(rng.choice(joined), rng.choice(institutions), rng.choice(people), span, rng)
        if not any(member.names == fact.names and _meet(member, fact) for fact in facts):
            facts.append(member)
    return facts


def _succession(relation: str, where: str, people: Sequence[str], count: int, span: range, rng: Random) -> list[Fact]:
    """Return facts that each begin when the one before ends. The last may still go on."""
    cuts = sorted(rng.sample(span, min(count, len(span) - 1) + 1))
    facts: list[Fact] = []
    for start, end in pairwise(cuts):
        holder = rng.choice([one for one in people if not facts or one != facts[-1].subject])
        facts.append(Fact(subject=holder, relation=relation, object=where, start=start, end=end))
    if facts and rng.random() < 0.5:
        last = facts.pop()
        facts.append(Fact(subject=last.subject, relation=relation, object=where, start=last.start, end=None))
    return facts


def _awards(relation: str, where: str, people: Sequence[str], count: int, span: range, rng: Random) -> list[Fact]:
    return [
        Fact(subject=rng.choice(people), relation=relation, object=where, start=time, end=time)
        for time in rng.sample(span, min(count, len(span)))
    ]


def _membership(relation: str, where: str, member: str, span: range, rng: Random) -> Fact:
    start = rng.choice(span)
    longest = len(span) // 6
    end = None if rng.random() < 0.1 else min(span[-1], start + rng.randint(1, longest))
    return Fact(subject=member, relation=relation, object=where, start=start, end=end)


def _meet(one: Fact, other: Fact) -> bool:
    return one.start <= other.until and other.start <= one.until
