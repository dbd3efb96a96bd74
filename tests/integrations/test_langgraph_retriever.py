"""MemR3 over LangGraph's own in-memory store."""

import pytest

pytest.importorskip("langgraph")

from foreign_memories import EMBEDDER, TEXTS, aembed, all_of, found, said, texts_of
from langgraph.store.memory import InMemoryStore

from recollect.errors import RecallFailed
from recollect.integrations import MetadataFields
from recollect.integrations.langgraph import LangGraphRetriever

HERE = ("sample",)


async def store(**index):
    kept = InMemoryStore(index={"dims": EMBEDDER.dimension, "embed": aembed, "fields": ["text"], **index})
    for at, text in enumerate(TEXTS):
        value = {"text": text, "at": said(at).isoformat(), "speaker": "Ada", "session": "s1", "topic": at % 2}
        await kept.aput((*HERE, "s1"), f"m{at}", value)
    await kept.aput(("other",), "x", {"text": "The other cat sleeps."})
    return kept


@pytest.mark.parametrize("k", [1, 3, 50])
async def test_everything_comes_once_k_at_a_time(k):
    rounds = await all_of(LangGraphRetriever(await store(), HERE), k)
    assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS)
    assert all(len(brought) == k for brought in rounds[:-1])


async def test_items_tell_when_they_were_said_and_by_whom():
    recall = await found(LangGraphRetriever(await store(), HERE), limit=1)
    (evidence,) = recall.evidence
    assert (evidence.id, evidence.text) == ("s1/m1", TEXTS[1])
    assert (evidence.mentioned, evidence.speaker, evidence.session) == (said(1), "Ada", "s1")
    assert evidence.score > 0.3
    assert recall.receipt.notes == ()


async def test_an_item_that_does_not_say_when_counts_as_said_when_it_was_stored():
    kept = await store()
    (evidence,) = (await found(LangGraphRetriever(kept, ("other",)))).evidence
    stored = (await kept.aget(("other",), "x")).created_at
    assert (evidence.id, evidence.mentioned, evidence.speaker) == ("x", stored, "")


async def test_an_item_without_the_text_is_shown_whole():
    kept = InMemoryStore()
    await kept.aput(("prefs",), "food", {"likes": ["rye", "søtt"]})
    (evidence,) = (await found(LangGraphRetriever(kept, ("prefs",)))).evidence
    assert evidence.text == '{"likes": ["rye", "søtt"]}'
    (evidence,) = (await found(LangGraphRetriever(kept, ("prefs",), text="likes"))).evidence
    assert evidence.text.startswith("{")


async def test_it_is_narrowed_by_namespace_and_filter():
    kept = await store()
    assert texts_of(await found(LangGraphRetriever(kept, ("other",)))) == ["The other cat sleeps."]
    assert len(texts_of(await found(LangGraphRetriever(kept, ())))) == len(TEXTS) + 1
    even = await found(LangGraphRetriever(kept, HERE, where={"topic": 0}))
    assert sorted(texts_of(even)) == sorted(TEXTS[::2])


async def test_other_fields_can_hold_what():
    kept = InMemoryStore()
    await kept.aput(("c",), "k", {"content": "Rye.", "when": said(3).isoformat(), "by": "Bram", "turn": "t9"})
    retriever = LangGraphRetriever(
        kept, ("c",), text="content", fields=MetadataFields(at="when", speaker="by", sources="turn", id="turn")
    )
    (evidence,) = (await found(retriever)).evidence
    assert (evidence.id, evidence.text, evidence.mentioned) == ("t9", "Rye.", said(3))
    assert (evidence.speaker, evidence.sources) == ("Bram", ("t9",))


async def test_a_store_that_is_down_is_told():
    async def broken(texts):
        raise ConnectionError("gone")

    kept = await store()
    kept.embeddings.func = kept.embeddings.afunc = broken
    with pytest.raises(RecallFailed, match="langgraph: ConnectionError: gone"):
        await found(LangGraphRetriever(kept, HERE))
