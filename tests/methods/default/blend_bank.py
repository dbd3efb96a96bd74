"""A bank of the default recipe with short segments, and a model that replies by what it is asked for."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from recollect import Memory, Message
from recollect.methods.default.answer import DefaultResponder
from recollect.methods.default.first_pass import FirstPassReply
from recollect.methods.emem.master import MasterReply
from recollect.methods.emem.prompts import AssistantQuote
from recollect.methods.emem.prompts import AssistantReply as Quoting
from recollect.methods.memr3.answer import ConclusionReply
from recollect.methods.memr3.trace import Finding, Gap
from recollect.methods.memr3.tracker import GenerationReply
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.recipes import get_recipe
from recollect.retain.encode import EncodeSettings
from recollect.retain.segments import SegmentSettings
from recollect.testing.models import FunctionModel, HashEmbedder
from recollect.worker import WorkerSettings

AT = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
NOW = datetime(2024, 6, 5, 12, tzinfo=UTC)
TALK = (
    "I flew my red kite at the beach.",
    "The kite tore in the wind.",
    "I sewed the kite together again with green thread.",
    "My sister Ines moved to Porto in March.",
    "Ines works in a bakery there.",
    "I baked bread with rye on Sunday.",
    "Bram has a new bicycle.",
    "The bicycle was stolen in April.",
)
ASKED = "What became of the kite?"

FIRST, GENERATE, CONCLUDE, ASSIST, MASTER = (
    "default.answer",
    "memr3.generate",
    "memr3.answer",
    "emem.assist",
    "emem.answer",
)


def recipe(settings=None, *, segments=True, length=60):
    """The default recipe with short segments and no background work."""
    kept = SegmentSettings(length=length, overlap=10, summaries=False) if segments else None
    answer = DefaultResponder if settings is None else partial(DefaultResponder, settings=settings)
    return replace(
        get_recipe("default"),
        encode=partial(make_turn_encoder, settings=EncodeSettings(segments=kept)),
        consolidate=(),
        answer=answer,
    )


@asynccontextmanager
async def opened(model, *texts, made=None, **how):
    """A bank that holds these messages, or the talk; ids are m0, m1 and so on."""
    async with Memory.open(
        ":memory:",
        embedder=HashEmbedder(256),
        model=model,
        recipe=made or recipe(**how),
        worker=WorkerSettings(automatic=False),
        clock=lambda: NOW,
    ) as memory:
        bank = await memory.bank("ada")
        messages = [
            Message(id=f"m{n}", text=text, speaker="Ada", at=AT + timedelta(minutes=n))
            for n, text in enumerate(texts or TALK)
        ]
        await bank.retain(messages, session="s1")
        yield bank


def replying(**replies):
    """A model: for each operation, its dots written as underscores, a reply, or several, given one after another; the
    last one again and again. One that is an exception is raised, one that is a function is asked."""
    given = {name.replace("_", "."): reply if isinstance(reply, list) else [reply] for name, reply in replies.items()}

    def answer(prompt, answer_type):
        left = given[prompt.operation]
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Exception):
            raise reply
        return reply(prompt) if callable(reply) else reply

    return FunctionModel(answer)


def operations(model):
    return [prompt.operation for prompt in model.prompts]


def first(answer="It tore and was sewn.", *citations, gaps=(), abstained=False, **more):
    """A first pass; where it leaves something open, with a query."""
    is_open = abstained or more.get("whole") or any(not gap.finer for gap in gaps)
    given = {"query": "kite repaired thread"} if is_open else {}
    return FirstPassReply(
        reasoning="The entries say so.",
        answer=answer,
        abstained=abstained,
        citations=citations or (() if abstained else (1,)),
        gaps=tuple(gaps),
        **{**given, **more},
    )


def silent(*gaps, **more):
    return first("Memory does not say.", abstained=True, gaps=gaps, **more)


def gap(missing="how it was repaired", *, finer=False):
    return Gap(missing=missing, finer=finer)


def found(fact, *snippets):
    return Finding(fact=fact, snippets=snippets)


def settle(*evidence, draft="So it was."):
    return GenerationReply(evidence=evidence, gaps=(), decision="answer", draft=draft)


def retrieve(query, *evidence, gaps=()):
    return GenerationReply(evidence=evidence, gaps=tuple(gaps), decision="retrieve", query=query)


def concluded(answer="Sewn with green thread.", *citations, abstained=False):
    return ConclusionReply(reasoning="It follows.", answer=answer, abstained=abstained, citations=citations)


def quoting(*words):
    quotes = tuple(AssistantQuote(words=one, shows="what became of it") for one in words)
    return Quoting(relevant=bool(quotes), quotes=quotes, inference="It says so." if quotes else "")


def joined(answer="It tore and was sewn with green thread.", *citations, abstained=False):
    return MasterReply(trace="The quotes are joined.", answer=answer, abstained=abstained, citations=citations)
