"""Opinions as trajectories of items (section 5.4.1, equation 24), over a real bank."""

from dataclasses import replace
from datetime import timedelta

import pytest
from cara_bank import AT, NOW, opened, step

from recollect.domain.items import Item, ItemKind
from recollect.domain.links import Link, LinkKind
from recollect.domain.opinions import Assessment
from recollect.errors import StaleWrite
from recollect.methods.hindsight.opinions import get_opinion_id, group_trajectories, is_in_first_person, make_opinion_id
from recollect.store.protocol import ForgetSelection

YEAR = timedelta(days=365)
PYTHON = "I think Python is the best language for data science. Its libraries are everywhere."


@pytest.mark.parametrize(
    "statement",
    [
        "I believe remote work is good for the team.",
        "In my view, remote working is good for the team",
        "I've come to believe that Remote  work: is good for the teams!",
        "Previously I thought little of it, but now I feel remote work is good for the team",
    ],
)
def test_statements_in_the_same_words_are_one_opinion(statement):
    assert make_opinion_id(statement) == make_opinion_id("I think remote work is good for the team.")


@pytest.mark.parametrize(
    "statement",
    [
        "I think remote work is good for the families",
        "I think remote work is not good for the team.",
        "I don't think remote work is good for the team.",
        "I think the team is good for remote work.",
        "I think remote work was good for the team.",
        "I think remote work",
        "I think Ada is good",
        "I think so",
        "",
    ],
)
def test_statements_on_other_matters_are_other_opinions(statement):
    assert make_opinion_id(statement) != make_opinion_id("I think remote work is good for the team.")


def test_statements_of_small_words_alone_are_told_apart():
    assert make_opinion_id("I think so") != make_opinion_id("I think not")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I think Bram should hire Marta.", "I think Marta should hire Bram."),
        ("I think dogs are better than cats.", "I think cats are better than dogs."),
        ("I think he owes her.", "I think she owes him."),
        ("私は猫が犬より好きだと思う", "私は犬が猫より好きだと思う"),
    ],
)
def test_who_does_it_to_whom_makes_another_opinion(one, other):
    assert make_opinion_id(one) != make_opinion_id(other)


def test_what_is_thought_for_and_against_one_thing_bears_like_names():
    told = (
        "I think dogs are better than cats",
        "I think cats are better than dogs",
        "I doubt it",
        "dogs aren't better",
    )
    matters = [make_opinion_id(one).partition("-")[0] for one in told]
    assert (matters[0] == matters[1], len(set(matters))) == (True, 3)


def test_a_short_not_is_a_not():
    assert (
        make_opinion_id("I think it doesn't fit")
        == make_opinion_id("I think it doesn’t fit")
        == make_opinion_id("it does not fit")
    )


@pytest.mark.parametrize(
    "statement",
    [
        "I think so",
        "I'm sure of it",
        "I’ve come to believe it",
        "In my view, it is",
        "My view is that",
        "To me, it is",
        "On balance, I believe it",
        "Previously I thought so",
    ],
)
def test_statements_that_begin_in_the_first_person(statement):
    assert is_in_first_person(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "The speaker thinks so",
        "They believe it",
        "It is",
        "Remote work is good for the team, I think",
        "i think so",
        "In Maine it is",
        "",
    ],
)
def test_statements_that_do_not(statement):
    assert not is_in_first_person(statement)


def item(id_, at=AT, **more):
    base = Item(
        id=id_,
        kind=ItemKind.OPINION,
        text=f"I think {id_}",
        session="",
        speaker="iris",
        sources=("m1",),
        mentioned=at,
        recorded=at,
        confidence=0.5,
    )
    return replace(base, **more)


def test_steps_become_trajectories_in_the_order_of_their_numbers():
    first = item("opinion:a:0:formed", derived_from=("f1",), confidence=0.7, superseded=NOW)
    second = item("opinion:a:2:weaken", NOW, derived_from=("opinion:a:1:reinforce", "f3"), confidence=0.6)
    middle = item("opinion:a:1:reinforce", NOW, derived_from=("opinion:a:0:formed", "f2"), superseded=NOW)
    (opinion,) = group_trajectories([second, first, middle], {"opinion:a:2:weaken": ("Ada",)})
    assert (opinion.id, opinion.text, opinion.confidence) == ("opinion:a", second.text, 0.6)
    assert (opinion.formed, opinion.entities, opinion.sources) == (AT, ("Ada",), ("m1",))
    assert [(one.assessment, one.evidence) for one in opinion.steps] == [
        (Assessment.FORMED, ("f1",)),
        (Assessment.REINFORCE, ("f2",)),
        (Assessment.WEAKEN, ("f3",)),
    ]
    assert opinion.evidence == {"f1", "f2", "f3"}


def test_the_tenth_step_comes_after_the_ninth():
    items = [item(f"opinion:a:{n}:reinforce", superseded=NOW if n < 10 else None) for n in range(1, 11)]
    (opinion,) = group_trajectories(sorted(items, key=lambda one: one.id), {})
    assert opinion.steps[-1].id == "opinion:a:10:reinforce"


def test_an_opinion_that_was_voiced_under_another_name_is_a_first_step():
    (opinion,) = group_trajectories([item("imported opinion 7")], {})
    assert (opinion.id, opinion.steps[0].assessment) == ("imported opinion 7", Assessment.FORMED)
    assert get_opinion_id("imported opinion 7") == "imported opinion 7"
    assert get_opinion_id("opinion:a:7:revised") == "opinion:a"


def test_an_opinion_whose_last_step_holds_no_longer_is_none():
    assert group_trajectories([item("opinion:a:0:formed", superseded=NOW)], {}) == []


def test_what_moved_last_comes_first():
    old, new = item("opinion:a:0:formed", NOW), item("opinion:b:0:formed", NOW + timedelta(seconds=1))
    assert [one.id for one in group_trajectories([old, new], {})] == ["opinion:b", "opinion:a"]


async def test_an_opinion_is_kept_with_what_it_rests_on():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python for data science.", "Ada")
        await iris.fact("f2", "Ben uses Python too.", "Ben")
        changes = await iris.take(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1", "f2"], "Python", "Ada"))
        (kept,) = await iris.store.items(["opinion:py:0:formed"])
        (opinion,) = await iris.opinions()
    assert (kept.kind, kept.text, kept.confidence, kept.speaker) == (ItemKind.OPINION, PYTHON, 0.7, "iris")
    assert (kept.derived_from, kept.sources, kept.superseded) == (("f1", "f2"), ("m-f1", "m-f2"), None)
    assert kept.tokens > 5
    assert (opinion.id, opinion.formed, set(opinion.entities)) == ("opinion:py", NOW, {"Python", "Ada"})
    assert {
        Link(source=kept.id, target=fact, kind=LinkKind.RELATION, weight=1.0, label="formed") for fact in ("f1", "f2")
    } <= set(changes.links)


async def test_a_later_step_supersedes_and_keeps_the_one_before_it():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python.", "Ada")
        await iris.opinion("py", PYTHON, 0.7, ["f1"], "Python", "Ada")
        await iris.fact("f2", "Julia is faster.", "Julia")
        changes = await iris.take(step("py", PYTHON, 0.55, Assessment.WEAKEN, ["f2"]))
        first, second = await iris.store.items(["opinion:py:0:formed", "opinion:py:1:weaken"])
        (opinion,) = await iris.opinions()
    assert (first.text, first.confidence, first.superseded) == (PYTHON, 0.7, second.recorded)
    assert second.derived_from == (first.id, "f2")
    assert second.sources == ("m-f2", "m-f1")
    assert [one.confidence for one in opinion.steps] == [0.7, 0.55]
    assert set(opinion.entities) == {"Python", "Ada"}
    assert [(link.target, link.label) for link in changes.links if link.kind is LinkKind.RELATION] == [("f2", "weaken")]


async def test_forgetting_what_moved_an_opinion_takes_it_back_to_the_step_before():
    async with opened() as iris:
        for fact in ("f1", "f2", "f3"):
            await iris.fact(fact, f"Something about Python, {fact}.", "Python")
        await iris.opinion("py", PYTHON, 0.7, ["f1"], "Python")
        await iris.take(step("py", PYTHON, 0.85, Assessment.REINFORCE, ["f2"]))
        await iris.take(step("py", PYTHON, 0.55, Assessment.CONTRADICT, ["f3"]))
        await iris.store.forget(ForgetSelection(messages=("m-f3",)))
        (opinion,) = await iris.opinions()
        assert [one.confidence for one in opinion.steps] == [0.7, 0.85]
        await iris.fact("f4", "More about Python.", "Python")
        await iris.take(step("py", PYTHON, 1.0, Assessment.REINFORCE, ["f4"]))
        (opinion,) = await iris.opinions()
        assert [one.id for one in opinion.steps][-1] == "opinion:py:2:reinforce"
        await iris.store.forget(ForgetSelection(messages=("m-f1",)))
        assert await iris.opinions() == []
        assert await iris.store.items_of([ItemKind.OPINION], superseded=True) == []


async def test_a_step_on_what_was_forgotten_is_not_taken():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python.", "Ada")
        changes = await iris.steps(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1", "gone"]))
        assert (changes.items, changes.links, changes.supersedes) == ((), (), ())


async def test_a_bank_that_has_moved_on_refuses_steps_and_gets_them_anew():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python.", "Ada")
        changes = await iris.steps(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1"]))
        await iris.said("m9", "Something else")
        with pytest.raises(StaleWrite):
            await iris.store.commit(changes)


async def test_a_question_asked_in_the_past_records_nothing_before_what_it_rests_on():
    async with opened() as iris:
        fact = await iris.fact("f1", "Ada uses Python.", "Ada")
        await iris.take(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1"]), at=AT - timedelta(days=400))
        (kept,) = await iris.store.items(["opinion:py:0:formed"])
    assert (kept.mentioned, kept.recorded) == (AT - timedelta(days=400), fact.recorded)


async def test_a_step_is_recorded_when_it_is_stored_whatever_the_present_of_the_question():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python.", "Ada")
        await iris.fact("f2", "Julia is faster.", "Julia")
        await iris.take(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1"]), at=NOW + YEAR, stored=NOW)
        later = NOW + timedelta(days=1)
        await iris.take(step("py", PYTHON, 0.5, Assessment.REVISED, ["f2"]), at=AT - YEAR, stored=later)
        first, second = await iris.store.items(["opinion:py:0:formed", "opinion:py:1:revised"])
        (opinion,) = await iris.opinions()
    assert (first.recorded, first.superseded, second.recorded) == (NOW, later, later)
    assert [one.at for one in opinion.steps] == [NOW, NOW]
    assert (opinion.formed, second.mentioned) == (NOW, NOW)


async def test_a_step_is_dated_by_the_present_of_a_question_about_the_past():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python.", "Ada")
        await iris.fact("f2", "Julia is faster.", "Julia")
        await iris.take(step("py", PYTHON, 0.7, Assessment.FORMED, ["f1"]), at=NOW - YEAR, stored=NOW)
        await iris.take(step("py", PYTHON, 0.5, Assessment.WEAKEN, ["f2"]), at=NOW)
        (kept,) = await iris.store.items(["opinion:py:0:formed"])
        (opinion,) = await iris.opinions()
    assert (kept.recorded, kept.mentioned) == (NOW, NOW - YEAR)
    assert [one.at for one in opinion.steps] == [NOW - YEAR, NOW]


async def test_opinions_on_an_entity():
    async with opened() as iris:
        await iris.fact("f1", "Ada uses Python, Ben does not.", "Ada", "Ben")
        await iris.take(
            step("a", "I think Ada is right. She knows it.", 0.7, Assessment.FORMED, ["f1"], "Ada"),
            step("b", "I think Ben is wrong. He does not know it.", 0.6, Assessment.FORMED, ["f1"], "Ben"),
        )
        (ben,) = [one for one in await iris.store.entities() if one.name == "Ben"]
        assert [one.id for one in await iris.opinions(entity=ben.id)] == ["opinion:b"]
        assert len(await iris.opinions()) == 2
        assert await iris.opinions(entity="nobody") == []
