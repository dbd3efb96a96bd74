"""The loop: masked retrievals, no accumulation, the router's rules, and the paper's two examples."""

import pytest
from memr3_bank import (
    Shelf,
    bank,
    concluded,
    found,
    gap,
    parts,
    piece,
    query,
    reason,
    recall_of,
    reflect,
    retrieve,
    settle,
)

from recollect.domain.queries import Scope
from recollect.domain.recalls import ArmStatus
from recollect.domain.usage import Usage
from recollect.errors import InvalidReply
from recollect.methods.memr3.loop import NO_ROOM, is_scope_empty
from recollect.methods.memr3.trace import DecisionReason, LoopDecision, TrackerState, get_loop

PIECES = [piece(id_, f"This is {id_}.") for id_ in "abcdefgh"]
KNOWN = found("It is known.", 1)


def decided(trace):
    return [(one.decision.value, one.why.value) for one in trace.rounds]


def ids(snippets):
    return [one.id for one in snippets]


# Figure 1.

TOBY = piece("toby", "So much has changed: this is Toby, my puppy!", speaker="Andrew")
ANOTHER = piece("another", "I adopted another pup from a shelter.", speaker="Andrew")
NAMED = piece("named", "I named him Buddy, since he is my buddy.", speaker="Andrew")
ADOPTED = found("Andrew adopted Toby on 11 July 2023.", 1)
BUDDY = found("Another pup, adopted by 19 October 2023, was named Buddy.", 2, 3)
ASKED = "How many months passed between Andrew adopting Toby and Buddy?"
FIGURE_1 = (
    retrieve("Buddy adoption date", ADOPTED, gaps=[gap("when Buddy was adopted")]),
    reflect("From 11 July to 19 October three full months pass.", ADOPTED, BUDDY, gaps=[gap("the day", finer=True)]),
    settle("Three months.", ADOPTED, BUDDY),
    concluded("Three months.", 1, 2),
)


async def test_the_papers_example_of_two_pups():
    shelf = Shelf(TOBY, ANOTHER, NAMED)
    built = parts(shelf, *FIGURE_1)
    answer = await reason(built, query(ASKED, limit=2))
    assert decided(get_loop(answer)) == [
        ("retrieve", "start"),
        ("retrieve", "model"),
        ("reflect", "model"),
        ("answer", "model"),
    ]
    assert [one.text for one in shelf.queries] == [ASKED, f"{ASKED} Buddy adoption date"]
    assert [ids(one.snippets) for one in get_loop(answer).rounds] == [["toby", "another"], ["named"], [], []]
    assert answer.text == "Three months."
    assert [one.id for one in answer.citations] == ["toby", "another"]
    assert [one.operation for one in built.model.prompts] == ["memr3.generate"] * 3 + ["memr3.answer"]


async def test_snippets_are_not_accumulated_and_stay_over_a_reflection():
    built = parts(Shelf(TOBY, ANOTHER, NAMED), *FIGURE_1)
    await reason(built, query(ASKED, limit=2))
    first, second, third, last = (prompt.text for prompt in built.model.prompts)
    assert "[1] (said" in first
    assert "[2] (said" in first
    for later in (second, third):
        assert "[1] (said" not in later
        assert "[3] (said" in later
    assert "<reasoning>\nFrom 11 July to 19 October" in third
    assert "<reasoning>" not in second
    assert "<earlier_queries>\n- Buddy adoption date\n</earlier_queries>" in second
    assert "<snippets>" not in last
    assert "<draft>\nThree months.\n</draft>" in last
    assert "[2, 3]" in last


# Appendix B.5: the memory knows a year, the question might want a day.

SUNRISE = piece("sunrise", "I painted that lake sunrise last year!", speaker="Melanie")
OTHERS = [piece(f"o{n}", f"Painting {n} is of the sea.", speaker="Melanie") for n in range(30)]
YEAR = found("Melanie painted the lake sunrise in 2022.", 1)
IN_2022 = concluded("In 2022.", 1)


async def test_a_year_is_an_answer_where_the_model_says_that_nothing_is_missing():
    answer = await reason(parts(Shelf(SUNRISE, *OTHERS), settle("2022", YEAR), IN_2022))
    assert decided(get_loop(answer)) == [("retrieve", "start"), ("answer", "model")]
    assert (answer.text, answer.abstained) == ("In 2022.", False)


def insisting(finer):
    """A model that goes on looking for the day, until it has to answer."""
    wanting = retrieve("sunrise exact day", YEAR, gaps=[gap("the day of the painting", finer=finer)])

    def reply(prompt, answer_type):
        return wanting if prompt.operation == "memr3.generate" else IN_2022

    return reply


async def test_a_year_ends_the_loop_where_a_finer_time_was_looked_for_in_vain():
    answer = await reason(parts(Shelf(SUNRISE, *OTHERS), insisting(True)))
    assert decided(get_loop(answer)) == [("retrieve", "start"), ("retrieve", "model"), ("answer", "precision")]
    assert (answer.text, answer.abstained) == ("In 2022.", False)
    assert get_loop(answer).rounds[-1].after.gaps == (gap("the day of the painting", finer=True),)


@pytest.mark.parametrize(("finer", "settles"), [(True, False), (False, True)])
async def test_as_the_paper_tells_it_the_budget_is_used_up_and_the_answer_is_the_year(finer, settles):
    built = parts(Shelf(SUNRISE, *OTHERS), insisting(finer))
    answer = await reason(built, settles=settles)
    assert decided(get_loop(answer)) == [
        ("retrieve", "start"),
        *[("retrieve", "model")] * 4,
        ("answer", "budget"),
    ]
    assert get_loop(answer).end_reason is DecisionReason.BUDGET
    assert (answer.text, len(built.model.prompts)) == ("In 2022.", 6)


async def test_a_finer_time_that_is_found_is_taken():
    """The rule must not stop at a year where the day is there to be found."""
    day = found("Melanie painted the lake sunrise on 7 May 2022.", 1, 2)
    built = parts(
        Shelf(SUNRISE, piece("day", "It was the seventh of May.", speaker="Melanie")),
        retrieve("sunrise day", YEAR, gaps=[gap("the day", finer=True)]),
        settle("7 May 2022", day),
        concluded("On 7 May 2022.", 2),
    )
    answer = await reason(built, query(limit=1))
    assert decided(get_loop(answer))[-1] == ("answer", "model")
    assert answer.text == "On 7 May 2022."


# Retrieval.


async def test_what_was_seen_and_what_the_caller_leaves_out_is_masked():
    shelf = Shelf(*PIECES)
    built = parts(shelf, retrieve("more", KNOWN), retrieve("more still", KNOWN), settle("x", KNOWN), concluded("x", 1))
    asked = query(scope=Scope(exclude=frozenset({"b"}), speakers=("Ada",)))
    answer = await reason(built, asked, n_chk=2)
    assert [ids(one.snippets) for one in get_loop(answer).rounds] == [["a", "c"], ["d", "e"], ["f", "g"], []]
    assert [sorted(one.scope.exclude) for one in shelf.queries] == [["b"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]]
    assert {(one.limit, one.scope.speakers, one.now) for one in shelf.queries} == {(2, ("Ada",), asked.now)}
    assert ids(answer.evidence) == ["a", "c", "d", "e", "f", "g"]


async def test_a_retriever_that_does_not_mask_is_told_of_and_brings_nothing_twice():
    built = parts(
        Shelf(*PIECES, masks=False), retrieve("m", KNOWN), reflect("H.", KNOWN), settle("x", KNOWN), concluded("x", 1)
    )
    answer = await reason(built)
    assert ids(answer.evidence) == list("abcde")
    assert decided(get_loop(answer))[2] == ("reflect", "empty")
    (note,) = answer.receipt.notes
    assert note.endswith("5 snippets were dropped")


async def test_all_retrievals_together_keep_to_the_tokens():
    shelf = Shelf(*PIECES)
    built = parts(shelf, retrieve("more", KNOWN), settle("x", KNOWN), concluded("x", 1))
    await reason(built, query(max_tokens=70), n_chk=3)
    assert [one.max_tokens for one in shelf.queries] == [70, 40]
    unbounded = parts(Shelf(*PIECES), settle("x", KNOWN), concluded("x", 1))
    await reason(unbounded, query(max_tokens=None))
    assert unbounded.retriever.queries[0].max_tokens is None


class Tight:
    """A retriever that finds something, none of which has room."""

    async def retrieve(self, query, reader):
        return recall_of((), candidates=3, cut=3)


async def test_what_has_no_room_is_told():
    built = parts(Tight(), reflect("Hm.", gaps=[gap("all")]), settle("x", gaps=[gap("all of it.")]))
    answer = await reason(built, query("Why?", max_tokens=5))
    assert answer.receipt.notes == (NO_ROOM.format(query="Why?"),)
    assert (answer.abstained, answer.text) == (
        True,
        "Memory holds nothing on this. Missing: all of it.",
    )


# The rules.


async def test_after_an_empty_retrieval_the_model_reflects_and_is_free_again():
    built = parts(
        Shelf(*PIECES[:5]),
        retrieve("more", KNOWN, gaps=[gap("more")]),
        settle("too soon", KNOWN),
        settle("x", KNOWN),
        concluded("x", 1),
    )
    answer = await reason(built)
    assert decided(get_loop(answer))[1:] == [("retrieve", "model"), ("reflect", "empty"), ("answer", "model")]
    assert get_loop(answer).rounds[2].wanted is LoopDecision.ANSWER
    prompts = [prompt.text for prompt in built.model.prompts]
    assert prompts[1].endswith("The only decision open now is reflect, since the last retrieval found nothing new.")
    assert prompts[2].endswith("Decisions open now: retrieve, reflect, answer.")


@pytest.mark.parametrize("cap", [1, 2, 3])
async def test_after_enough_reflections_it_retrieves_by_what_is_missing(cap):
    thoughts = [reflect(f"Thought {n}.", KNOWN, gaps=[gap("the place")]) for n in range(cap + 1)]
    shelf = Shelf(*PIECES)
    built = parts(shelf, *thoughts, settle("x", KNOWN), concluded("x", 1))
    answer = await reason(built, query("Where?"), n_cap=cap, n_max=9)
    assert decided(get_loop(answer))[1:] == [
        *[("reflect", "model")] * cap,
        ("retrieve", "streak"),
        ("answer", "model"),
    ]
    assert shelf.queries[-1].text == "Where? the place"


@pytest.mark.parametrize("most", [1, 2, 5, 8])
async def test_the_budget_holds(most):
    def reply(prompt, answer_type):
        return retrieve("more", KNOWN) if prompt.operation == "memr3.generate" else concluded("x", 1)

    built = parts(Shelf(*[piece(f"p{n}", "A piece.") for n in range(100)]), reply)
    answer = await reason(built, n_max=most)
    assert len(built.model.prompts) == most + 1
    assert len(built.retriever.queries) == most
    assert get_loop(answer).rounds[-1].why is DecisionReason.BUDGET
    assert built.model.prompts[-2].text.endswith("answer, since the budget of iterations is used up.")
    assert "<draft>" not in built.model.prompts[-1].text


# The trace as a value.


async def test_each_iteration_is_told_when_it_is_over_with_all_that_belongs_to_it():
    heard = []
    built = parts(Shelf(TOBY, ANOTHER, NAMED), *FIGURE_1)
    answer = await reason(built, query(ASKED, limit=2), follow=heard.append)
    *heard, end = heard
    assert (tuple(heard), end) == (get_loop(answer).rounds, get_loop(answer).conclusion)
    start, second, third, last = heard
    assert (start.number, start.before, start.after, start.usage) == (0, TrackerState(), TrackerState(), Usage())
    assert (start.query, second.query, third.query) == (ASKED, f"{ASKED} Buddy adoption date", "")
    assert (second.before, second.after) == (
        TrackerState(),
        TrackerState(evidence=(ADOPTED,), gaps=(gap("when Buddy was adopted"),)),
    )
    assert third.before == second.after
    assert (second.content, third.content, last.content) == (
        "Buddy adoption date",
        "From 11 July to 19 October three full months pass.",
        "Three months.",
    )
    assert [one.usage.calls for one in heard] == [0, 1, 1, 1]
    spent = sum((one.usage for one in heard), end.usage)
    assert spent == built.model.usage == answer.receipt.usage


async def test_the_story():
    built = parts(Shelf(TOBY, ANOTHER, NAMED), *FIGURE_1)
    answer = await reason(built, query(ASKED, limit=2))
    told = [(step.action, step.detail.partition(" (")[0]) for step in answer.trace]
    assert told == [
        ("retrieve", f"looked for '{ASKED}': 2 new [1, 2]"),
        (
            "retrieve",
            "known now: Andrew adopted Toby on 11 July 2023. [1]; missing: when Buddy was adopted; "
            f"looked for '{ASKED} Buddy adoption date': 1 new [3]",
        ),
        (
            "reflect",
            "known now: Another pup, adopted by 19 October 2023, was named Buddy. [2, 3]; missing: the day; "
            "reflected: From 11 July to 19 October three full months pass.",
        ),
        ("answer", "nothing is missing; to be answered"),
        ("conclude", "So it says."),
    ]
    spent = get_loop(answer).rounds[1].usage
    assert answer.trace[1].detail.endswith(f"({spent.tokens_in + spent.tokens_out:,} tokens)")


async def test_the_story_names_the_rule():
    replies = (retrieve("more", KNOWN), settle("soon", KNOWN), settle("x", KNOWN), concluded("x", 1))
    answer = await reason(parts(Shelf(*PIECES[:5]), *replies))
    assert "reflected: on what is known, since the last retrieval found nothing new" in answer.trace[2].detail


# Any bank, any retriever.


async def test_over_a_real_bank_nothing_comes_twice():
    texts = [f"Painting number {n} is of a sunrise." for n in range(12)]
    async with bank(*texts) as (store, retriever):
        replies = (retrieve("sunrise", KNOWN), retrieve("painting", KNOWN), settle("x", KNOWN), concluded("x", 1))
        answer = await reason(parts(retriever, *replies), reader=store)
    assert [len(one.snippets) for one in get_loop(answer).rounds] == [5, 5, 2, 0]
    assert len(set(ids(answer.evidence))) == 12


@pytest.mark.parametrize("scope", [Scope(), Scope(sessions=("another",)), Scope(exclude=frozenset({"m1"}))])
async def test_where_nothing_is_in_scope_no_model_is_asked(scope):
    async with bank(*(["Ada paints."] if scope != Scope() else [])) as (store, retriever):
        built = parts(retriever)
        answer = await reason(built, query(scope=scope), reader=store)
    assert (answer.text, answer.abstained, answer.evidence) == ("Memory holds nothing on this.", True, ())
    assert (built.model.prompts, get_loop(answer).end_reason, len(get_loop(answer).rounds)) == ([], None, 1)


async def test_what_another_query_might_find_is_looked_for():
    """A retriever of words finds nothing for the wrong ones: that is no proof that there is nothing."""

    class Words:
        async def retrieve(self, query, reader):
            return recall_of([piece("a", "A dawn.")] if "dawn" in query.text else [], arm="words")

    missing = [gap("all")]
    replies = (reflect("Other words?", gaps=missing), retrieve("dawn", gaps=missing), settle("Dawn.", KNOWN))
    answer = await reason(parts(Words(), *replies, concluded("A dawn.", 1)))
    assert answer.text == "A dawn."


@pytest.mark.parametrize(
    ("arm", "status", "candidates", "nothing"),
    [
        ("semantic", ArmStatus.OK, 0, True),
        ("semantic", ArmStatus.OK, 4, False),
        ("semantic", ArmStatus.FAILED, 0, False),
        ("semantic", ArmStatus.IDLE, 0, False),
        ("lexical", ArmStatus.OK, 0, False),
    ],
)
def test_what_proves_that_there_is_nothing(arm, status, candidates, nothing):
    assert is_scope_empty(recall_of((), arm=arm, status=status, candidates=candidates)) is nothing


async def test_evidence_on_a_snippet_that_was_never_retrieved_is_refused():
    built = parts(Shelf(*PIECES[:2]), settle("x", found("f", 3)))
    with pytest.raises(InvalidReply, match="rests on snippet 3, and there is none; they are numbered 1 to 2"):
        await reason(built)
