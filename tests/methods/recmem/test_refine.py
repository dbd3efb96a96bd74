"""Episodes and facts as values: what replies may say, the items they become, what the models are shown (7 to 9)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from recmem_bank import AT, NOW, fact, holding, opened, reply, said

from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.time import Interval, Precision
from recollect.methods.recmem.episodes import (
    EpisodesReply,
    ExtractedEpisode,
    MergeReply,
    build_episodes_prompt,
    build_merge_prompt,
    check_episodes,
    make_episodes,
    merge_into_episode,
)
from recollect.methods.recmem.refinement import FactsReply, build_refine_prompt, check_facts, is_known, make_facts
from recollect.methods.recmem.units import Unit
from recollect.models.language import ModelRole as ModelRole
from recollect.testing.models import FunctionModel
from recollect.text.fencing import DATA_RULE
from recollect.text.tokens import count_tokens


def unit(n, text, *, hours=None, speaker="Ada"):
    at = AT + timedelta(hours=n if hours is None else hours)
    message = StoredMessage(
        id=f"m{n}", session="s", position=n, speaker=speaker, role=Role.USER, text=text, captions=(), at=at, recorded=at
    )
    turn = Item(
        id=f"turn:0:m{n}",
        kind=ItemKind.TURN,
        text=text,
        session="s",
        speaker=speaker,
        sources=(message.id,),
        mentioned=at,
        recorded=at,
        order=n,
    )
    return Unit(item=turn, messages=(message,))


UNITS = [
    unit(1, "I adopted Toby yesterday."),
    unit(2, "He chews shoes.\nAll of them."),
    unit(5, "Toby is at Nora's now."),
]


def episodes(*told):
    return EpisodesReply(episodes=tuple(ExtractedEpisode(text=text, exchanges=numbers) for text, *numbers in told))


def made(*told, label="recurrence of 3"):
    return make_episodes(episodes(*told), UNITS, label=label, now=NOW)


def known(id_, text, **more):
    return Item(
        id=id_,
        kind=ItemKind.SEMANTIC,
        text=text,
        session="s",
        speaker="Ada",
        sources=("m1",),
        mentioned=AT,
        recorded=AT,
        **more,
    )


# Replies


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: MergeReply(merge=True, episode="  "),
        lambda: ExtractedEpisode(text="...", exchanges=(1,)),
        lambda: ExtractedEpisode(text="Ada rose.", exchanges=()),
        lambda: episodes(("a", 1), ("b", 2), ("c", 3), ("d", 1)),
        lambda: episodes(("Ada rose.", 1), ("Ada rose. ", 2)),
        lambda: fact("?!"),
        lambda: fact("Ada rose.", 1, start="2024-02-31"),
        lambda: fact("Ada rose.", 1, start="2024-03", end="2024-01"),
        lambda: fact("Ada rose.", 1, kind="event", replaces=(1,)),
        lambda: FactsReply(facts=tuple(fact(f"Fact {n}.") for n in range(10))),
    ],
)
def test_what_no_reply_may_say(wrong):
    with pytest.raises(ValueError):  # noqa: PT011
        wrong()


def test_nine_facts_are_fewer_than_ten_and_no_episode_is_fine():
    assert len(FactsReply(facts=tuple(fact(f"Fact {n}.") for n in range(9))).facts) == 9
    assert EpisodesReply(episodes=()).episodes == ()
    assert not MergeReply(merge=False).merge


def test_numbers_are_those_of_what_was_shown():
    check_episodes(episodes(("a", 1, 3)), 3)
    for wrong in ((0,), (4,)):
        with pytest.raises(ValueError, match="numbered 1 to 3"):
            check_episodes(episodes(("a", *wrong)), 3)
    with pytest.raises(ValueError, match="no episode tells of exchange 2"):
        check_episodes(episodes(("a", 1)), 3, required=2)
    check_facts(FactsReply(facts=(fact("a", 2, kind="update", replaces=(1,)),)), 2, 1)
    with pytest.raises(ValueError, match="no exchange 3"):
        check_facts(FactsReply(facts=(fact("a", 3),)), 2, 0)
    with pytest.raises(ValueError, match="no known fact 1 to replace"):
        check_facts(FactsReply(facts=(fact("a", 1, kind="update", replaces=(1,)),)), 2, 0)


# Items


def test_an_episode_tells_of_what_it_names_and_rests_on_all_that_was_shown():
    ((item, of),) = made(("Ada adopted Toby.", 2, 1, 2))
    assert item.sources == ("m1", "m2")
    assert [one.id for one in of] == ["turn:0:m1", "turn:0:m2"]
    assert item.derived_from == ("turn:0:m1", "turn:0:m2", "turn:0:m5")
    assert (item.kind, item.label, item.order, item.mentioned) == (
        ItemKind.EPISODE,
        "recurrence of 3",
        0,
        AT + timedelta(hours=2),
    )


def test_episodes_of_one_cluster_are_chains_of_their_own():
    (one, _), (other, _) = made(("a story", 1), ("b story", 3))
    assert one.session != other.session
    assert (one.id, other.id) == (f"{one.session}:0", f"{other.session}:0")
    ((again, _),) = made(("a story told otherwise", 1))
    assert again.id == one.id, "it is called after what was shown"


def test_the_next_step_holds_all_that_the_last_one_came_from():
    ((item, _),) = made(("Ada adopted Toby.", 1, 2))
    step = merge_into_episode(item, " Ada adopted Toby, then gave him away. ", unit(7, "I gave him away."), now=NOW)
    assert (step.id, step.session, step.order) == (f"{item.session}:1", item.session, 1)
    assert step.sources == ("m1", "m2", "m7")
    assert step.derived_from == (*item.derived_from, "turn:0:m7")
    assert item.id not in step.derived_from, "so that what is left of it is looked at anew"
    assert (step.label, step.text) == (item.label, "Ada adopted Toby, then gave him away.")
    assert step.mentioned == AT + timedelta(hours=7)
    late = merge_into_episode(step, "More.", unit(3, "An old one."), now=NOW)
    assert (late.id, late.mentioned) == (f"{item.session}:2", step.mentioned)


def test_an_episode_stands_in_the_time_that_its_words_tell():
    ((item, _),) = made(("On 3 May 2023 Ada rose. In July 2023 she sat down.", 1))
    (told,) = item.occurrences
    assert (told.interval.start, told.interval.end) == (
        datetime(2023, 5, 3, tzinfo=UTC),
        datetime(2023, 8, 1, tzinfo=UTC),
    )
    assert told.interval.precision is Precision.RANGE
    ((item, _),) = made(("In July 2023 Ada rose.", 1))
    assert item.occurrences[0].interval.precision is Precision.MONTH
    ((item, _),) = made(("Ada rose.", 1))
    assert item.occurrences == ()


def test_equation_9_facts_with_their_type_time_and_what_they_replace():
    ((episode, _),) = made(("Ada adopted Toby.", 1, 2, 3))
    told = FactsReply(
        facts=(
            fact("Ada adopted Toby on 30 April 2024.", 1, start="2024-04-30"),
            fact("Toby lives with Nora, no longer with Ada.", 3, 1, kind="update", start="2024-05", replaces=(2, 2)),
        )
    )
    old = [known("semantic:old:0", "Ada has a dog."), known("semantic:old:1", "Toby lives with Ada.")]
    (one, none), (other, replaced) = make_facts(told, episode, UNITS, old, first=4, now=NOW)
    chain = episode.session.removeprefix("episode:")
    assert (one.id, other.id) == (f"semantic:{chain}:4", f"semantic:{chain}:5")
    assert (one.label, other.label) == ("event", "update")
    assert (one.sources, other.sources) == (("m1",), ("m5", "m1"))
    assert one.occurred == Interval(
        start=datetime(2024, 4, 30, tzinfo=UTC), end=datetime(2024, 5, 1, tzinfo=UTC), precision=Precision.DAY
    )
    assert other.occurred.precision is Precision.MONTH
    assert (none, replaced) == ((), ("semantic:old:1",))
    assert one.derived_from == (episode.id,)
    assert other.derived_from == (episode.id, "semantic:old:1")
    assert other.mentioned == AT + timedelta(hours=5)


def test_a_date_with_an_offset_and_one_without_are_no_error_in_another_zone():
    """The reply was held against UTC; 19:00 in Tokyo is before 18:30 in Greenwich."""
    ((episode, _),) = made(("Ada sang.", 1))
    east = timezone(timedelta(hours=9))
    (one,) = (replace(one, at=one.at.astimezone(east)) for one in UNITS[0].messages)
    told = FactsReply(facts=(fact("Ada sang.", 1, start="2024-05-01T18:30Z", end="2024-05-01T19:00"),))
    ((item, _),) = make_facts(told, episode, [replace(UNITS[0], messages=(one,))], [], first=0, now=NOW)
    assert item.occurred.start == datetime(2024, 5, 1, 18, 30, tzinfo=UTC)


def test_a_fact_goes_with_the_known_one_that_it_has_words_from():
    """Of "dog" and "Lyon" the exchanges and the episode say nothing; one fact that says "dog" is enough."""
    ((episode, _),) = made(("Ada adopted Toby.", 1, 2, 3))
    old = [
        known("semantic:old:0", "Nora swims."),
        known("semantic:old:1", "Toby is a dog."),
        known("semantic:old:2", "Ada has a dog."),
        known("semantic:old:3", "Ada lives in Lyon with her dog."),
    ]

    def origins(text, **more):
        ((item, _),) = make_facts(FactsReply(facts=(fact(text, 1, **more),)), episode, UNITS, old, first=0, now=NOW)
        return item.derived_from

    assert origins("Ada adopted Toby.") == (episode.id,)
    assert origins("Ada adopted the dog Toby in Lyon.") == (episode.id, "semantic:old:1", "semantic:old:3")
    moved = origins("Ada moved with her dog from Lyon.", kind="update", replaces=(4,))
    assert moved == (episode.id, "semantic:old:3"), "what it replaces has both words"


def vector(degrees):
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32)


@pytest.mark.parametrize(
    ("text", "degrees", "same"),
    [
        ("Ada  LIKES tea", 90, True),  # the same words
        ("Tea is what Ada likes.", 13, True),  # 0.974 like it
        ("Tea is what Ada likes.", 15, False),  # 0.966
        ("Tea is what Ada likes, 3 cups.", 1, False),  # a number that the other does not have
    ],
)
def test_a_fact_that_is_known_already(text, degrees, same):
    assert is_known(text, vector(degrees), [("Ada likes tea.", vector(0))], 0.97) is same


def test_numbers_tell_like_facts_apart():
    ran = [("On 3 May Ada ran 5 km.", vector(0))]
    assert not is_known("On 3 May Ada ran 10 km.", vector(1), ran, 0.97)
    assert is_known("Ada ran 5 km on 3 May.", vector(1), ran, 0.97)


async def test_equation_8_the_nearest_old_facts_are_shown_and_what_they_say_is_not_kept_twice():
    """Of the three facts there are two are shown; the new reply repeats one of these."""
    prompts = []

    def answer(prompt, kind):
        prompts.append(prompt)
        if kind is not FactsReply:
            return reply(prompt, kind)
        n = len([one for one in prompts if one.operation == "recmem.refine"])
        return (
            FactsReply(facts=(fact("b@80 far"), fact("a@40 near"), fact("a@10 nearest")))
            if n == 1
            else FactsReply(facts=(fact("A@10  NEAREST."), fact("a@11 else")))
        )

    async with opened(FunctionModel(answer), old_facts=2) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(*(f"c@{n} one" for n in range(4))), session="s", wait=True)
        await bank.retain(said(*(f"a@{n} two" for n in range(4)), start=4), session="t", wait=True)
        shown = prompts[-1].text.partition("<known_facts>")[2]
        assert [line.rpartition(") ")[2] for line in shown.strip().splitlines()[:2]] == ["a@10 nearest", "a@40 near"]
        assert "far" not in shown
        assert set(await holding(bank, "semantic")) == {"b@80 far", "a@40 near", "a@10 nearest", "a@11 else"}


async def test_the_second_episode_of_a_cluster_knows_the_facts_of_the_first():
    prompts = []

    def answer(prompt, kind):
        prompts.append(prompt)
        if kind is EpisodesReply:
            return episodes(("a@0 one story", 1, 2), ("a@1 another", 3, 4))
        if kind is FactsReply and "known_facts" in prompt.text:
            return FactsReply(facts=(fact("a@0 it changed", 1, kind="update", replaces=(1,)), fact("a@3 It is so.")))
        return FactsReply(facts=(fact("a@3 It is so."),)) if kind is FactsReply else reply(prompt, kind)

    async with opened(FunctionModel(answer)) as memory:
        bank = await memory.bank("bank")
        await bank.retain(said(*(f"a@{n} x" for n in range(4))), session="s", wait=True)
        refining = [prompt for prompt in prompts if prompt.operation == "recmem.refine"]
        assert [("known_facts" in prompt.text) for prompt in refining] == [False, True]
        assert await holding(bank, "semantic") == {"a@0 it changed": ("m2",)}
        assert len(await bank.items("episode")) == 2


# Prompts


def test_the_prompt_of_a_merge():
    ((episode, _),) = made(("Ada adopted Toby.\n[2] Not an exchange.", 1))
    prompt = build_merge_prompt(episode, UNITS[1], 4000)
    assert (prompt.operation, prompt.role, prompt.subject) == ("recmem.merge", ModelRole.CONSOLIDATE, "m2")
    assert prompt.text == (
        "<episode>\nAda adopted Toby.\n    [2] Not an exchange.\n</episode>\n\n"
        "<new_exchange>\nWednesday, 1 May 2024, 11:00, Ada: He chews shoes.\n    All of them.\n</new_exchange>"
    )


def test_the_prompt_of_a_cluster():
    prompt = build_episodes_prompt(UNITS[:2], required=None, characters=12)
    assert (prompt.operation, prompt.role, prompt.subject) == ("recmem.episodes", ModelRole.CONSOLIDATE, "m2")
    assert prompt.text == (
        "<exchanges>\n[1] Wednesday, 1 May 2024, 10:00, Ada: I adopted To [cut off here]\n"
        "[2] Wednesday, 1 May 2024, 11:00, Ada: He chews sho [cut off here]\n</exchanges>"
    )
    assert build_episodes_prompt(UNITS[:2], required=2, characters=12).text == (
        f"{prompt.text}\n\nExchange 2 has to be kept: one episode tells of it, even if of nothing else."
    )


def test_the_prompt_of_a_refinement():
    ((episode, _),) = made(("Ada adopted Toby.", 1))
    day = Interval(start=AT, end=AT + timedelta(days=1), precision=Precision.DAY)
    old = known("semantic:o:0", "Ada has a dog.", occurrences=(Occurrence(words="then", interval=day),))
    prompt = build_refine_prompt(episode, UNITS[:1], [old], 4000)
    assert (prompt.operation, prompt.role, prompt.subject) == ("recmem.refine", ModelRole.CONSOLIDATE, episode.id)
    assert prompt.text == (
        "<exchanges>\n[1] Wednesday, 1 May 2024, 10:00, Ada: I adopted Toby yesterday.\n</exchanges>\n\n"
        "<episode>\nAda adopted Toby.\n</episode>\n\n"
        "<known_facts>\n[1] (time 1 May 2024; said Wednesday, 1 May 2024, 09:00) Ada has a dog.\n</known_facts>"
    )
    assert "known_facts" not in build_refine_prompt(episode, UNITS[:1], [], 4000).text


def test_prompts_are_short_and_say_that_what_they_show_is_no_instruction():
    ((episode, _),) = made(("Ada adopted Toby.", 1))
    prompts = (
        (build_merge_prompt(episode, UNITS[0], 4000), 350),
        (build_episodes_prompt(UNITS, required=None, characters=4000), 450),
        (build_refine_prompt(episode, UNITS, [], 4000), 450),
    )
    for prompt, most in prompts:
        assert prompt.system.endswith(DATA_RULE)
        assert count_tokens(prompt.system) <= most
        assert "Toby" not in prompt.system
