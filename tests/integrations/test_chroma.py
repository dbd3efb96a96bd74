"""MemR3 over a Chroma collection."""

import pytest

pytest.importorskip("chromadb")

import chromadb
from chromadb.config import Settings
from foreign_memories import TEXTS, all_of, embed, found, said, texts_of

from recollect.domain.items import ItemKind
from recollect.errors import RecallFailed
from recollect.integrations import MetadataFields
from recollect.integrations.chroma import ChromaRetriever


class Ours(chromadb.EmbeddingFunction):
    def __init__(self):
        pass

    def __call__(self, input):  # noqa: A002
        return embed(input)

    @staticmethod
    def name():
        return "ours"

    def get_config(self):
        return {}

    @staticmethod
    def build_from_config(config):
        return Ours()


MARKED = MetadataFields(id="message_id")


@pytest.fixture
def collection():
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False, allow_reset=True))
    client.reset()
    made = client.create_collection("sample", embedding_function=Ours(), metadata={"hnsw:space": "cosine"})
    made.add(
        ids=[f"c{at}" for at in range(len(TEXTS))],
        documents=list(TEXTS),
        metadatas=[
            {"message_id": f"m{at}", "at": said(at).timestamp(), "speaker": "Ada", "even": at % 2 == 0}
            for at in range(len(TEXTS))
        ],
    )
    yield made
    client.reset()


class Waiting:
    """The collection as an asynchronous client gives it."""

    def __init__(self, collection):
        self._collection = collection

    async def query(self, **given):
        return self._collection.query(**given)


@pytest.mark.parametrize("fields", [MetadataFields(), MARKED], ids=["asked for more", "filtered by chroma"])
@pytest.mark.parametrize("k", [1, 3, 50])
async def test_everything_comes_once_k_at_a_time(collection, fields, k):
    for source in (collection, Waiting(collection)):
        rounds = await all_of(ChromaRetriever(source, fields=fields), k)
        assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS)
        assert all(len(brought) == k for brought in rounds[:-1])


async def test_a_document_tells_when_it_was_said_and_by_whom(collection):
    (evidence,) = (await found(ChromaRetriever(collection), limit=1)).evidence
    assert (evidence.id, evidence.text, evidence.kind) == ("c1", TEXTS[1], ItemKind.SEGMENT)
    assert (evidence.mentioned, evidence.speaker) == (said(1), "Ada")
    assert -1 < evidence.score < 0
    (marked,) = (await found(ChromaRetriever(collection, fields=MARKED), limit=1)).evidence
    assert marked.id == "m1"


async def test_chromas_own_filter_narrows_it_as_well(collection):
    for fields in (MetadataFields(), MARKED):
        rounds = await all_of(ChromaRetriever(collection, where={"even": True}, fields=fields), 2)
        assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS[::2])


async def test_a_collection_that_is_gone_is_told(collection):
    retriever = ChromaRetriever(collection)
    assert len(texts_of(await found(retriever))) == len(TEXTS)
    collection._client.delete_collection("sample", tenant="default_tenant", database="default_database")
    with pytest.raises(RecallFailed, match=r"chroma: NotFoundError"):
        await found(retriever)
