"""What was said beside a message: models see it, and what they make of it goes with it."""

from dataclasses import replace
from datetime import timedelta

from recmem_bank import AT, holding, opened, reply
from test_recmem_answer import Asked

from recollect import Message
from recollect.testing.models import FunctionModel

TALK = (
    ("Bram", "Who takes the dog?"),
    ("Ada", "a@1 I do."),
    ("Ada", "a@2 And on Monday too."),
    ("Bram", "Whose turn is it?"),
    ("Ada", "a@3 Mine."),
    ("Bram", "x" * 400),
    ("Ada", "a@4 Never."),
)


async def talk(bank):
    messages = [Message(id=f"m{n}", speaker=who, text=text, at=AT) for n, (who, text) in enumerate(TALK)]
    await bank.retain(messages, session="s")


async def test_a_unit_is_shown_with_what_it_answers_and_no_other_is():
    model = FunctionModel(reply)
    async with opened(model) as memory:
        bank = await memory.bank("b")
        await talk(bank)
        await bank.run_jobs()
    shown = model.prompts[0].text.splitlines()
    lines = [line.strip() for line in shown if line.startswith(("[", "    "))]
    head = "Wednesday, 1 May 2024, 09:00, Ada:"
    assert lines == [
        f"[1] {head} a@1 I do.",
        "(right after Bram: Who takes the dog?)",
        f"[2] {head} a@2 And on Monday too.",
        f"[3] {head} a@3 Mine.",
        "(right after Bram: Whose turn is it?)",
        f"[4] {head} a@4 Never.",
        f"(right after Bram: {'x' * 300} [cut off here])",
    ]


async def test_what_an_exchange_answered_takes_the_episode_along_when_it_is_forgotten():
    async with opened() as memory:
        bank = await memory.bank("b")
        await talk(bank)
        await bank.run_jobs()
        (sources,) = (await holding(bank)).values()
        assert "m3" not in sources, "it is no source: it is consolidated by nothing"
        await bank.forget(messages="m3")
        assert not await holding(bank)
        await bank.run_jobs()
        ((text, sources),) = (await holding(bank)).items()
        assert sources == ("m1", "m2", "m4", "m6")
        assert "Whose turn" not in text


async def test_a_message_that_was_found_brings_its_neighbours_along_once():
    asked = Asked()
    async with opened(asked.model) as memory:
        bank = await memory.bank("b")
        await talk(bank)
        await bank.ask("a@3", limit=1, kinds=())
        shown = asked.prompt.text
        assert shown.count("Whose turn is it?") == 1
        await bank.ask("a@3", speakers="Ada")
        assert "Whose turn is it?" not in asked.prompt.text, "what is narrowed stays narrowed"


async def test_what_stands_beside_keeps_to_the_tokens_of_the_query():
    asked = Asked()
    async with opened(asked.model) as memory:
        bank = await memory.bank("b")
        await talk(bank)
        await bank.ask("a@3", limit=1, max_tokens=12)
        assert "Mine." in asked.prompt.text
        assert "Whose turn is it?" not in asked.prompt.text
        await bank.ask("a@3", limit=1, max_tokens=400)
        assert "Whose turn is it?" in asked.prompt.text


async def test_what_was_said_long_before_is_not_beside():
    model = FunctionModel(reply)
    async with opened(model) as memory:
        bank = await memory.bank("b")
        for n in range(4):
            asked = Message(id=f"q{n}", speaker="Bram", text=f"b@90 question {n}", at=AT)
            said = Message(id=f"m{n}", speaker="Ada", text=f"a@{n} said", at=AT + timedelta(days=2))
            await bank.retain([asked, said], session=f"s{n}")
        await bank.run_jobs()
    of_ada = [prompt.text for prompt in model.prompts if "a@" in prompt.text]
    assert of_ada
    assert not any("question" in text for text in of_ada)


async def test_what_is_dated_long_after_a_unit_is_not_what_it_answers():
    model = FunctionModel(reply)
    async with opened(model) as memory:
        bank = await memory.bank("b")
        days = ((30, "Bram", "b@0 Who takes the dog?"), (0, "Ada", "c@0 I do."))
        messages = [Message(id=f"m{d}", speaker=who, text=text, at=AT + timedelta(days=d)) for d, who, text in days]
        await bank.retain([messages[0], replace(messages[1], important=True)], session="s", wait=True)
    assert "I do." in model.prompts[0].text
    assert "right after" not in model.prompts[0].text
