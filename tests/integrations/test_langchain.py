"""MemR3 over LangChain's vector stores and retrievers, and a bank as one of its retrievers."""

import asyncio
import json

import pytest

pytest.importorskip("langchain_core")

from foreign_memories import NOW, TEXTS, aembed, all_of, embed, found, said, texts_of
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from recollect import Memory, Message, sync
from recollect.domain.items import ItemKind
from recollect.errors import RecallFailed, RecollectError
from recollect.integrations.langchain import BankRetriever, LangChainRetriever, make_document
from recollect.integrations.metadata_fields import make_text_id
from recollect.testing.models import HashEmbedder


class Ours(Embeddings):
    def embed_documents(self, texts):
        return embed(texts)

    def embed_query(self, text):
        return embed([text])[0]

    async def aembed_documents(self, texts):
        return await aembed(texts)

    async def aembed_query(self, text):
        return (await aembed([text]))[0]


async def vectors():
    store = InMemoryVectorStore(Ours())
    await store.aadd_documents(
        [
            Document(id=f"d{at}", page_content=text, metadata={"at": said(at).isoformat(), "speaker": "Ada"})
            for at, text in enumerate(TEXTS)
        ]
    )
    return store


class Fixed(BaseRetriever):
    """Brings always the same, and takes no number."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content=text) for text in TEXTS[:3]]


class Counting(BaseRetriever):
    """Takes a number by the name of k."""

    def _get_relevant_documents(self, query, *, run_manager, k=2):
        return [Document(page_content=text) for text in TEXTS[:k]]

    async def _aget_relevant_documents(self, query, *, run_manager, k=2):
        return self._get_relevant_documents(query, run_manager=run_manager, k=k)


@pytest.mark.parametrize("k", [1, 3, 50])
async def test_everything_comes_once_k_at_a_time(k):
    store = await vectors()
    for source in (store, store.as_retriever(search_kwargs={"k": 1}), Counting()):
        rounds = await all_of(LangChainRetriever(source), k)
        assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS)
        assert all(len(brought) == k for brought in rounds[:-1])


async def test_a_document_tells_when_it_was_said_and_by_whom():
    (evidence,) = (await found(LangChainRetriever(await vectors()), limit=1)).evidence
    assert (evidence.id, evidence.text, evidence.kind) == ("d1", TEXTS[1], ItemKind.SEGMENT)
    assert (evidence.mentioned, evidence.speaker, evidence.score) == (said(1), "Ada", 1.0)


async def test_a_retriever_that_takes_no_number_brings_what_it_brings():
    retriever = LangChainRetriever(Fixed())
    recall = await found(retriever, limit=2, exclude=[make_text_id(TEXTS[0])])
    assert texts_of(recall) == list(TEXTS[1:3])
    assert [one.mentioned for one in recall.evidence] == [None, None]
    (note,) = recall.receipt.notes
    assert note == "langchain does not tell when 2 of 2 pieces were said: they are shown without a time"
    assert [make_document(one).metadata["mentioned"] for one in recall.evidence] == [None, None]
    assert [len(brought) for brought in await all_of(retriever, 2)] == [2, 1]


async def test_a_retriever_that_fails_is_told():
    class Down(Fixed):
        def _get_relevant_documents(self, query, *, run_manager):
            raise ConnectionError("gone")

    with pytest.raises(RecallFailed, match="langchain: ConnectionError: gone"):
        await found(LangChainRetriever(Down()))


def messages():
    return [Message(id=f"m{at}", text=text, speaker="Ada", at=said(at)) for at, text in enumerate(TEXTS)]


async def test_a_bank_as_a_retriever():
    async with Memory.open(":memory:", embedder=HashEmbedder(), model="none", clock=lambda: NOW) as memory:
        bank = await memory.bank("ada")
        await bank.retain([*messages(), Message(id="m9", text="Yesterday the cat ran.", at=NOW)], session="s1")
        recall = await bank.recall("Which cat ran yesterday?", limit=3)
        documents = await BankRetriever(bank, limit=3).ainvoke("Which cat ran yesterday?")
        assert [(one.id, one.page_content) for one in documents] == [(one.id, one.text) for one in recall.evidence]
        first = next(one for one in documents if one.metadata["sources"] == ["m9"])
        assert first.metadata == {
            "kind": "turn",
            "session": "s1",
            "speaker": "user",
            "sources": ["m9"],
            "mentioned": "2024-07-20T12:00:00+00:00",
            "occurred": {
                "start": "2024-07-19T00:00:00+00:00",
                "end": "2024-07-20T00:00:00+00:00",
                "precision": "day",
            },
            "score": next(one.score for one in recall.evidence if one.sources == ("m9",)),
            "tokens": next(one.tokens for one in recall.evidence if one.sources == ("m9",)),
        }
        assert json.loads(json.dumps(first.metadata)) == first.metadata
        assert len(await BankRetriever(bank, limit=3).ainvoke("cat", k=1)) == 1
        assert await BankRetriever(bank, sessions="s2").ainvoke("cat") == []
        chain = BankRetriever(bank, limit=1) | RunnableLambda(lambda found: found[0].page_content)
        assert await chain.ainvoke("bakes bread on Sundays") == TEXTS[2]
        with pytest.raises(TypeError, match="recall takes no colour"):
            BankRetriever(bank, colour="red")


async def test_an_asynchronous_bank_waits_for_threads_but_not_for_its_own_loop():
    async with Memory.open(":memory:", embedder=HashEmbedder(), model="none") as memory:
        bank = await memory.bank("ada")
        await bank.retain(messages(), session="s1")
        retriever = BankRetriever(bank, limit=2)
        assert await asyncio.to_thread(retriever.invoke, "cat") == await retriever.ainvoke("cat")
        with pytest.raises(RecollectError, match="await the asynchronous method"):
            retriever.invoke("cat")


def test_a_bank_that_waits_works_with_and_without_a_loop():
    with sync.Memory.open(":memory:", embedder=HashEmbedder(), model="none") as memory:
        bank = memory.bank("ada")
        bank.retain(messages(), session="s1")
        retriever = BankRetriever(bank, limit=2)
        documents = retriever.invoke("cat")
        assert [one.id for one in documents] == [one.id for one in bank.recall("cat", limit=2).evidence]
        assert asyncio.run(retriever.ainvoke("cat")) == documents
