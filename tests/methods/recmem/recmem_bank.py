"""Banks whose units lie at known angles, and a model that makes episodes and facts by rule."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from recollect import Memory, Message
from recollect.domain.items import ItemKind
from recollect.methods.recmem.answer import TierAnswerer
from recollect.methods.recmem.consolidate import UnitConsolidator
from recollect.methods.recmem.episodes import EpisodesReply, ExtractedEpisode, MergeReply
from recollect.methods.recmem.refinement import ExtractedSemanticFact, FactsReply
from recollect.methods.recmem.settings import ConsolidateSettings, Recurrence
from recollect.recipes import Recipe
from recollect.testing.models import FunctionModel
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
NOW = AT + timedelta(days=30)
THREE = Recurrence(theta_sim=0.7, theta_count=3)
"""0.7 is the cosine of 45.6 degrees."""

_ANGLE = re.compile(r"\b([a-g])@(-?\d+)")
_SHOWN = re.compile(r"^\[(\d+)\] \w+, .*?, \d\d:\d\d, .*?: (.*)$", re.M)


class Compass:
    """Embeds a text by the first "a@30" in it: 30 degrees in the plane a; a text without one lies in a plane apart."""

    name, dimension = "compass", 16

    async def embed(self, texts, *, purpose="document"):
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            plane, degrees = found.groups() if (found := _ANGLE.search(text)) else ("h", "0")
            at = 2 * "abcdefgh".index(plane)
            row[at : at + 2] = np.cos(np.radians(float(degrees))), np.sin(np.radians(float(degrees)))
        return rows


def said(*texts, start=0, speaker="Ada", **more):
    """Messages m0, m1 ... an hour apart."""
    return [
        Message(id=f"m{n}", text=text, speaker=speaker, at=AT + timedelta(hours=n), **more)
        for n, text in enumerate(texts, start=start)
    ]


def shown(text, tag="exchanges"):
    """Numbers and words of what stands in a section of a prompt."""
    inside = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return [(int(number), words) for number, words in _SHOWN.findall(inside)]


def reply(prompt, kind):
    """One episode of all exchanges but those that say "aside"; a fact of each that says "fact"; "joins" is merged."""
    if kind is MergeReply:
        new = prompt.text.partition("<new_exchange>")[2].partition(": ")[2].partition("\n</new_exchange>")[0]
        old = prompt.text.partition("<episode>\n")[2].partition("\n</episode>")[0]
        return MergeReply(merge=True, episode=f"{old} Then {new}") if "joins" in new else MergeReply(merge=False)
    numbered = shown(prompt.text)
    if kind is EpisodesReply:
        told = [(number, words) for number, words in numbered if "aside" not in words]
        if not told:
            return EpisodesReply(episodes=())
        text = "Story: " + " / ".join(words for _, words in told)
        return EpisodesReply(episodes=(ExtractedEpisode(text=text, exchanges=tuple(number for number, _ in told)),))
    assert kind is FactsReply
    return FactsReply(facts=tuple(fact(f"It is so: {words}", number) for number, words in numbered if "fact" in words))


def fact(text, *exchanges, kind="event", **more):
    return ExtractedSemanticFact(text=text, type=kind, exchanges=exchanges or (1,), **more)


def recipe(recurrence=THREE, **settings):
    return Recipe(
        name="recmem",
        consolidate=(partial(UnitConsolidator, settings=ConsolidateSettings(recurrence=recurrence, **settings)),),
        answer=TierAnswerer,
    )


def opened(model=None, *, folder=":memory:", recurrence=THREE, clock=lambda: NOW, concurrency=4, **settings):
    return Memory.open(
        folder,
        recipe=recipe(recurrence, **settings),
        embedder=Compass(),
        model=model or FunctionModel(reply),
        worker=WorkerSettings(automatic=False, concurrency=concurrency),
        clock=clock,
    )


async def tiers(bank):
    """Every episode and fact with what it came from, its label, and whether it holds."""
    items = await bank._store.items_of([ItemKind.EPISODE, ItemKind.SEMANTIC], superseded=True)
    return {item.id: (item.text, item.label, item.sources, item.superseded is None) for item in items}


async def holding(bank, kind="episode"):
    """Texts of what holds, with the messages they came from."""
    return {item.text: item.sources for item in await bank.items(kind)}


def operations(model):
    return [prompt.operation.removeprefix("recmem.") for prompt in model.prompts]
