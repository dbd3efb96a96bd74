"""Appendix B: with a model that updates as equation 9 says, the tracker is monotone, sound and complete."""

import asyncio
import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from memr3_bank import Shelf, concluded, found, gap, parts, piece, query, reason

from recollect.methods.memr3.trace import DecisionReason, get_loop
from recollect.methods.memr3.tracker import GenerationReply

SNIPPET = re.compile(r"^\[(\d+)\] \(said [^)]*\) Snippet m\d+ tells: ?([r\d ]*)\.$", re.MULTILINE)
EVIDENCE = re.compile(r"^- (r\d+) is known \[([\d, ]+)\]$", re.MULTILINE)


class Ideal:
    """Definition B.3, from what stands in the prompt alone; ``keen`` ones look for more before they reflect."""

    def __init__(self, requirements, thoughtful):
        self._requirements, self._thoughtful = requirements, thoughtful
        self._calls = 0

    def __call__(self, prompt, answer_type):
        evidence = {name: tuple(map(int, numbers.split(","))) for name, numbers in EVIDENCE.findall(prompt.text)}
        if prompt.operation == "memr3.answer":
            return concluded("All that is known.", *next(iter(evidence.values())))
        self._calls += 1
        for number, told in SNIPPET.findall(prompt.text):
            for name in set(told.split()) & self._requirements:
                evidence.setdefault(name, (int(number),))
        gaps = sorted(self._requirements - evidence.keys())
        return GenerationReply(
            evidence=tuple(found(f"{name} is known", *numbers) for name, numbers in sorted(evidence.items())),
            gaps=tuple(gap(f"{name} is missing") for name in gaps),
            decision=("reflect" if self._calls in self._thoughtful else "retrieve") if gaps else "answer",
            query="more",
            reasoning="Nothing follows yet.",
            draft="All that is known.",
        )


NAMES = [f"r{n}" for n in range(1, 7)]


@st.composite
def worlds(draw):
    """A requirement set, and a memory in the order in which it is retrieved: what each snippet supports."""
    requirements = draw(st.sets(st.sampled_from(NAMES), min_size=1))
    memory = draw(st.lists(st.sets(st.sampled_from(NAMES), max_size=3), min_size=1, max_size=14))
    order = draw(st.permutations(range(len(memory))))
    return frozenset(requirements), memory, order


def facts(known):
    return {one.fact.partition(" ")[0] for one in known.evidence}


def missing(known):
    return {one.missing.partition(" ")[0] for one in known.gaps}


def lived(world, thoughtful, n_max, n_chk, n_cap):
    """The loop over a world; gives what was asked for, what each snippet supports, and the trace."""
    requirements, memory, order = world
    pieces = [piece(f"m{at}", f"Snippet m{at} tells: {' '.join(sorted(memory[at]))}.") for at in order]
    built = parts(Shelf(*pieces), Ideal(requirements, thoughtful))
    answer = asyncio.run(reason(built, query("What is known?"), n_max=n_max, n_chk=n_chk, n_cap=n_cap))
    supports = {f"m{at}": memory[at] & requirements for at in range(len(memory))}
    return requirements, supports, answer


LIVES = {
    "world": worlds(),
    "thoughtful": st.sets(st.integers(1, 12)),
    "n_max": st.integers(1, 12),
    "n_chk": st.integers(1, 5),
    "n_cap": st.integers(1, 3),
}


@given(**LIVES)
@settings(max_examples=100)
def test_evidence_never_shrinks_and_gaps_never_grow(world, thoughtful, n_max, n_chk, n_cap):
    requirements, _, answer = lived(world, thoughtful, n_max, n_chk, n_cap)
    for one in get_loop(answer).rounds[1:]:
        assert facts(one.before) <= facts(one.after)
        assert missing(one.after) <= (missing(one.before) or requirements)
        assert missing(one.after) == requirements - facts(one.after)


@given(**LIVES)
@settings(max_examples=100)
def test_what_a_retrieved_snippet_supports_is_evidence_and_nothing_else_is(world, thoughtful, n_max, n_chk, n_cap):
    _, supports, answer = lived(world, thoughtful, n_max, n_chk, n_cap)
    supported, number_of = set(), {}
    rounds = get_loop(answer).rounds
    for before, one in pairwise(rounds):
        number_of |= {snippet.number: snippet.id for snippet in before.snippets}
        supported |= {name for snippet in before.snippets for name in supports[snippet.id]}
        assert facts(one.after) == supported
        for finding in one.after.evidence:
            assert all(finding.fact.split()[0] in supports[number_of[number]] for number in finding.snippets)


@given(**LIVES)
@settings(max_examples=100)
def test_once_everything_is_supported_nothing_is_missing_and_the_loop_ends(world, thoughtful, n_max, n_chk, n_cap):
    requirements, supports, answer = lived(world, thoughtful, n_max, n_chk, n_cap)
    rounds = get_loop(answer).rounds
    supported = set()
    for before, one in pairwise(rounds):
        supported |= {name for snippet in before.snippets for name in supports[snippet.id]}
        if supported == requirements:
            assert (facts(one.after), missing(one.after)) == (requirements, set())
            assert one is rounds[-1] or one.why in (DecisionReason.EMPTY, DecisionReason.STREAK)


@given(world=worlds(), n_chk=st.integers(1, 5))
@settings(max_examples=100)
def test_with_budget_enough_all_that_memory_supports_is_found(world, n_chk):
    requirements, supports, answer = lived(world, set(), 40, n_chk, 2)
    reachable = set().union(*supports.values())
    assert facts(get_loop(answer).rounds[-1].after) == reachable
    assert answer.abstained == (not reachable)
    if reachable == requirements:
        assert missing(get_loop(answer).rounds[-1].after) == set()
        assert get_loop(answer).end_reason is DecisionReason.MODEL
