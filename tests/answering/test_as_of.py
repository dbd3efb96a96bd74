"""What a prompt shows of the past is what was known then."""

from datetime import UTC, datetime, timedelta

from recollect import Memory, Message
from recollect.answering.evidence import SectionLayout, Tier, gather_evidence
from recollect.domain.items import ItemKind
from recollect.domain.messages import Role
from recollect.domain.queries import Query, Scope
from recollect.models.embedders.wordllama import WordLlamaEmbedder
from recollect.recall.pipeline import TemprRetriever

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
SECTIONS = SectionLayout(names=("words",), section_of=lambda item: "words")
TIERS = (Tier(kinds=(ItemKind.TURN,), limit=5, share=1.0),)


async def test_an_answer_that_came_later_is_not_shown():
    now = [AT]
    async with Memory.open(":memory:", model="none", clock=lambda: now[0]) as memory:
        bank = await memory.bank("b")
        await bank.retain(Message(text="Where is the key?", at=AT), session="s")
        now[0] = AT + timedelta(days=2)
        answer = Message(text="In the drawer, since last Monday.", role=Role.ASSISTANT, speaker="assistant", at=now[0])
        await bank.retain(answer, session="s")

        async def shown(as_of):
            query = Query(text="the key", now=now[0], scope=Scope(as_of=as_of))
            retriever = TemprRetriever(WordLlamaEmbedder())
            return (await gather_evidence(query, bank._store, retriever, tiers=TIERS, sections=SECTIONS)).render()

        assert "drawer" in await shown(None)
        before = await shown(AT + timedelta(days=1))
        assert "Where is the key?" in before
        assert "drawer" not in before
        assert "Monday, 2" not in before
