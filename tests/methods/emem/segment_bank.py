"""A real bank in memory that keeps short segments, and a model whose assistants and master are functions."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from recollect.domain.messages import Message
from recollect.domain.queries import Query, Scope
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.prompts import AssistantQuote, AssistantReply, SummaryReply
from recollect.methods.emem.router import Router
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.entity_directory import DirectoryCache
from recollect.retain.segments import SegmentSettings
from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.models import FunctionModel, HashEmbedder

AT = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
NOW = datetime(2024, 6, 5, 12, tzinfo=UTC)
EMBEDDER = HashEmbedder()

NOTHING = AssistantReply(relevant=False, quotes=(), inference="")


class SegmentBank:
    """A bank and short ways to fill it and to put its parts together."""

    def __init__(self, store, settings):
        self.store = store
        self._encoder = TurnEncoder(EMBEDDER, settings=EncodeSettings(segments=settings))
        self.said_so_far = 0

    async def say(self, *texts, speaker="Ada", session="s1", at=None):
        """Retain messages of one session, a minute apart; their ids are m0, m1 and so on. Gives the changes."""
        messages = []
        for text in texts:
            moment = (at or AT) + timedelta(minutes=self.said_so_far)
            messages.append(Message(id=f"m{self.said_so_far}", text=text, speaker=speaker, at=moment))
            self.said_so_far += 1
        last = messages[-1].at + timedelta(seconds=1)
        changes = await self._encoder.encode(messages, session=session, reader=self.store, now=last)
        await self.store.commit(changes)
        return changes

    def parts(self, model=None, *, embedder=EMBEDDER, routing=None):
        """Parts as a recipe puts them together: the retriever is a router over TEMPR."""
        model = model or FunctionModel(unasked)
        plain = Dependencies(
            embedder=embedder,
            retriever=TemprRetriever(embedder),
            model=model,
            names=DirectoryCache(),
            clock=lambda: NOW,
        )
        router = (routing or Router)(plain)
        return Dependencies(embedder=embedder, retriever=router, model=model, names=DirectoryCache(), clock=lambda: NOW)


@asynccontextmanager
async def opened(length=60, overlap=10, *, segments=True):
    """An empty bank whose segments are so long, in tokens."""
    folder = SqliteFolder(":memory:")
    try:
        settings = SegmentSettings(length=length, overlap=overlap) if segments else None
        yield SegmentBank(await folder.open("bank", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension), settings)
    finally:
        await folder.close()


def unasked(prompt, answer_type):
    raise AssertionError(f"no model should be asked, and {prompt.operation} was")


def query(text, *, now=NOW, limit=20, max_tokens=4096, **scope):
    return Query(text=text, now=now, limit=limit, max_tokens=max_tokens, scope=Scope(**scope))


def quoting(*words, inference="It says so.", shows="what is asked"):
    """An assistant's reply with these quotes."""
    quotes = tuple(AssistantQuote(words=one, shows=shows) for one in words)
    return AssistantReply(relevant=bool(quotes), quotes=quotes, inference=inference if quotes else "")


def acting(master, *, assistants=None, plans=(), others=NOTHING):
    """A model: ``assistants`` maps words of a segment to the reply of who holds it, ``plans`` come one after another;
    a reply that is an exception is raised."""
    left = list(plans)

    def answer(prompt, answer_type):
        match prompt.operation:
            case "emem.assist":
                found = [reply for words, reply in (assistants or {}).items() if words in prompt.full_text]
                reply = found[0] if found else others
            case "emem.plan":
                reply = left.pop(0)
            case "emem.answer":
                reply = master
            case _:
                raise AssertionError(f"{prompt.operation} is asked by nobody here")
        if isinstance(reply, Exception):
            raise reply
        return reply

    return FunctionModel(answer)


def asked_for(model, operation):
    """The prompts of an operation, in order."""
    return [prompt for prompt in model.prompts if prompt.operation == operation]


SUMMARY = SummaryReply(speakers=("Ada",), period="May 2024", key_items=("a kite",), events=("Ada flew a kite.",))
