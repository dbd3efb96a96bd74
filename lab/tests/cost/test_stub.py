"""The stub's replies: sound, as long as they should be, about what they were shown."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recollect.domain.items import Item, ItemKind
from recollect.domain.messages import Message, Role, StoredMessage
from recollect.errors import InvalidReply, NoAnswer
from recollect.methods.hindsight.extractor import build_extraction_prompt as hindsight_prompt
from recollect.methods.hindsight.facts import check_facts
from recollect.methods.hindsight.replies import ExtractedFacts
from recollect.methods.recmem.episodes import (
    EpisodesReply,
    MergeReply,
    build_episodes_prompt,
    build_merge_prompt,
    check_episodes,
)
from recollect.methods.recmem.refinement import FactsReply, build_refine_prompt
from recollect.methods.recmem.refinement import check_facts as check_refined
from recollect.methods.recmem.units import Unit
from recollect.models.language import ModelRole as For
from recollect.models.language import Prompt
from recollect.retain.chunks import Chunk
from recollect.text.tokens import count_tokens
from recollect_lab.cost.eager import ExtractedMemories, build_extraction_prompt
from recollect_lab.cost.excerpts import compute_share, find_content_words, split_sentences
from recollect_lab.cost.stub import StubModel

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
LONG = "Yesterday we carried the old green sofa down four flights of stairs and Toby barked at every single neighbour."


def stored(n, text):
    at = AT + timedelta(days=n)
    return StoredMessage(
        id=f"m{n}",
        session="s",
        position=n,
        speaker=("Ada", "Bram")[n % 2],
        role=Role.USER,
        text=text,
        captions=(),
        at=at,
        recorded=at,
    )


def item(kind, text, message, **more):
    return Item(
        id=f"{kind}:{message.id}",
        kind=kind,
        text=text,
        session="s",
        speaker=message.speaker,
        sources=(message.id,),
        mentioned=message.at,
        recorded=message.at,
        **more,
    )


def unit(n, text):
    message = stored(n, text)
    return Unit(item=item(ItemKind.TURN, text, message), messages=(message,))


async def reply(prompt, kind, check=None):
    return (await StubModel().generate(prompt, kind, check=check)).value


# What it costs


async def test_tokens_are_those_of_all_that_is_read_and_written():
    prompt = build_extraction_prompt([Message(text="hm", id="m0", at=AT)], [])
    usage = (await StubModel().generate(prompt, ExtractedMemories)).usage
    action = '{"enum": ["ADD", "UPDATE", "DELETE", "NONE"], "type": "string"}'
    fact = f'{{"fact": {{"type": "string"}}, "action": {action}'
    memory = '"memory": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}}'
    read = [prompt.system, prompt.text]
    assert usage.tokens_in > sum(map(count_tokens, [*read, fact, memory]))
    assert usage.tokens_in - sum(map(count_tokens, read)) < 140, "the schema is read, once"
    assert (usage.calls, usage.tokens_out) == (1, count_tokens('{"memories":[]}'))


async def test_the_same_prompt_has_the_same_reply():
    prompt = build_episodes_prompt([unit(n, LONG) for n in range(9)], required=None, characters=4000)
    assert await StubModel().generate(prompt, EpisodesReply) == await StubModel().generate(prompt, EpisodesReply)


async def test_what_memory_is_not_made_by_is_refused():
    prompt = Prompt(role=For.ANSWER, operation="hindsight.answer", subject="q", system="", text="Who?")
    with pytest.raises(NoAnswer, match=r"hindsight\.answer"):
        await StubModel().generate(prompt, str)
    with pytest.raises(NoAnswer, match="cannot stream"):
        await anext(StubModel().stream(prompt))


async def test_a_reply_that_does_not_pass_is_shown():
    def check(value):
        raise ValueError("not so")

    with pytest.raises(InvalidReply, match="not so") as caught:
        await reply(build_extraction_prompt([Message(text="hm", id="m0", at=AT)], []), ExtractedMemories, check)
    assert caught.value.reply == '{"memories":[]}'


# Eager extraction


async def test_notes_are_of_the_sentences_that_say_most():
    said = [
        Message(id="1", speaker="Ada", at=AT, text=f"Hi! {LONG} Good to see you again. How are you?"),
        Message(id="2", speaker="Bram", at=AT, text="My oven died after nineteen years of bread. I bought another."),
    ]
    made = (await reply(build_extraction_prompt(said, []), ExtractedMemories)).memories
    assert [(one.fact, one.action) for one in made] == [
        (f"Ada said {' '.join(LONG.split()[:18])}", "ADD"),
        ("Bram said My oven died after nineteen years of bread.", "ADD"),
    ]


@pytest.mark.parametrize(
    ("note", "action", "memory"),
    [
        ("Bram said the oven died after nineteen years of bread", "NONE", 2),
        ("the oven has baked bread for nineteen years", "UPDATE", 2),
        ("Bram likes bread", "ADD", None),
    ],
)
async def test_what_a_fact_does_goes_by_the_words_it_shares(note, action, memory):
    said = [Message(id="2", speaker="Bram", at=AT, text="My oven died after nineteen years of bread.")]
    (made,) = (await reply(build_extraction_prompt(said, ["Ada swims", note]), ExtractedMemories)).memories
    assert (made.action, made.memory) == (action, memory)


# RecMem


@pytest.mark.parametrize(
    ("count", "sizes", "sentences_of"),
    [(1, [1], [1]), (2, [2], [4]), (6, [6], [6]), (7, [3, 4], [3, 4]), (14, [4, 5, 5], [4, 5, 5])],
)
async def test_there_is_an_episode_for_every_six_exchanges(count, sizes, sentences_of):
    words = LONG if count > 1 else "Toby barked."
    prompt = build_episodes_prompt([unit(n, f"{words} {words}") for n in range(count)], required=None, characters=4000)
    made = (await reply(prompt, EpisodesReply, lambda told: check_episodes(told, count))).episodes
    assert [len(one.exchanges) for one in made] == sizes
    assert [len(split_sentences(one.text)) for one in made] == sentences_of
    assert {number for one in made for number in one.exchanges} == set(range(1, count + 1))


async def test_an_episode_is_in_the_words_of_its_exchanges():
    prompt = build_episodes_prompt([unit(n, LONG) for n in range(3)], required=2, characters=4000)
    (made,) = (await reply(prompt, EpisodesReply)).episodes
    assert made.text.startswith("On Wednesday, 1 May 2024 Ada said Yesterday we carried the old green sofa")
    assert compute_share(LONG, find_content_words(made.text)) > 0.9


async def test_exchanges_with_words_in_common_are_merged_and_episodes_stay_short():
    text = " ".join(f"On Monday, {n} April 2024 Ada said the oven is broken." for n in range(1, 7))
    episode = item(ItemKind.EPISODE, text, stored(0, "x"))
    prompt = build_merge_prompt(episode, unit(9, "The oven is still broken, and Toby sleeps."), 4000)
    made = await reply(prompt, MergeReply)
    kept = split_sentences(made.episode)
    assert (made.merge, len(kept)) == (True, 6)
    assert kept[0] == "On Monday, 1 April 2024 Ada said the oven is broken."
    assert kept[1].startswith("On Monday, 3 April")
    assert kept[-1] == "On Friday, 10 May 2024 Bram said The oven is still broken, and Toby sleeps."
    assert await reply(build_merge_prompt(episode, unit(9, LONG), 4000), MergeReply) == MergeReply(merge=False)


async def test_a_fact_of_each_exchange_is_new_or_takes_the_place_of_another():
    units = [unit(0, "Hm. The oven died on Tuesday morning."), unit(1, "Toby is four years old."), unit(2, "!!")]
    known = [
        item(ItemKind.SEMANTIC, "Ada said The oven died on Tuesday morning", units[0].messages[0]),
        item(ItemKind.SEMANTIC, "Toby is three years old", units[1].messages[0]),
    ]
    prompt = build_refine_prompt(item(ItemKind.EPISODE, "An oven.", units[0].messages[0]), units, known, 4000)
    (made,) = (await reply(prompt, FactsReply, lambda facts: check_refined(facts, 3, 2))).facts
    assert (made.text, made.type, made.exchanges, made.replaces) == (
        "Bram said Toby is four years old.",
        "update",
        (2,),
        (2,),
    )
    assert made.start == "2024-05-02"
    many = [unit(n, f"{LONG} {n}") for n in range(12)]
    first = await reply(
        build_refine_prompt(item(ItemKind.EPISODE, "x", many[0].messages[0]), many, [], 4000), FactsReply
    )
    assert [one.exchanges for one in first.facts] == [(n,) for n in range(1, 10)]


# Hindsight


async def test_extraction_gives_five_facts_for_an_exchange_of_700_tokens():
    said = tuple(replace(stored(n % 28, LONG), id=f"m{n}", position=n) for n in range(14))
    chunk = Chunk(context=said[:2], messages=said[2:], tokens=0, agent="Iris", names_agent=False)
    prompt = hindsight_prompt(chunk, (2, 5))
    shown = prompt.text.partition("<messages>")[2]
    assert 640 < count_tokens(shown) < 760
    made = (await reply(prompt, ExtractedFacts, lambda facts: check_facts(facts, chunk))).facts
    assert len(made) == 5
    assert min(min(one.messages) for one in made) == 3, "the context has been read before"
    words = [len(one.what.split()) for one in made]
    assert all(30 <= count <= 60 for count in words)
    assert {name.name for one in made for name in one.entities} == {"Ada", "Bram", "Toby"}
    assert made[0].start == "2024-05-03"
    assert [len(one.relations) for one in made] == [0, 1, 0, 1, 0]
