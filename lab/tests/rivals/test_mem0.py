"""MemR3 over Mem0 in raw mode, with its own embedded vector stores: nothing is extracted, downloaded or sent."""

import socket
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("mem0")

from foreign_memories import EMBEDDER, TEXTS, all_of, found, said, texts_of

from recollect.errors import RecallFailed
from recollect.integrations import MetadataFields
from recollect.integrations.mem0 import Mem0Retriever
from recollect_lab.rivals import open_raw_mem0

USER = {"user_id": "sample"}
MARKED = MetadataFields(id="message_id", sources="message_id")


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """Not a single socket is opened but the event loop's own."""
    connected = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: connected.append(address))
    yield
    assert connected == []


class Near:
    """Embeds so that everything is somewhat like everything: Mem0 never brings what is less like a query than that."""

    name, dimension = "near", EMBEDDER.dimension + 1

    async def embed(self, texts, *, purpose="document"):
        vectors = await EMBEDDER.embed(texts, purpose=purpose)
        return np.concatenate([vectors, np.ones((len(texts), 1), np.float32)], axis=1) / np.sqrt(np.float32(2))


@pytest.fixture(params=["Memory", "AsyncMemory"])
async def memory(request, tmp_path):
    kept = open_raw_mem0(tmp_path, asynchronous=request.param == "AsyncMemory", embedder=Near())
    for at, text in enumerate(TEXTS):
        added = kept.add(
            [{"role": "user", "content": text, "name": "Ada"}],
            user_id="sample",
            run_id="s1",
            metadata={"message_id": f"m{at}", "at": said(at).isoformat(), "even": at % 2 == 0},
            infer=False,
        )
        if request.param == "AsyncMemory":
            await added
    yield kept
    kept.close()


@pytest.mark.parametrize("fields", [MetadataFields(), MARKED], ids=["asked for more", "filtered by mem0"])
@pytest.mark.parametrize("k", [1, 3, 50])
async def test_everything_comes_once_k_at_a_time(memory, fields, k):
    rounds = await all_of(Mem0Retriever(memory, filters=USER, fields=fields), k)
    assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS)
    assert all(len(brought) == k for brought in rounds[:-1])


async def test_a_memory_tells_when_it_was_said_and_by_whom(memory):
    recall = await found(Mem0Retriever(memory, filters=USER, fields=MARKED), limit=1)
    (evidence,) = recall.evidence
    assert (evidence.id, evidence.text, evidence.sources) == ("m1", TEXTS[1], ("m1",))
    assert (evidence.mentioned, evidence.speaker, evidence.session) == (said(1), "Ada", "s1")
    assert evidence.score > 0.2
    assert recall.receipt.notes == ()
    (bare,) = (await found(Mem0Retriever(memory, filters=USER, fields=MetadataFields(at="none")), limit=1)).evidence
    assert bare.mentioned > said(1)
    assert len(bare.id) == 36


async def test_mem0s_own_filters_narrow_it_as_well(memory):
    filters = {**USER, "even": True}
    for fields in (MetadataFields(), MARKED):
        rounds = await all_of(Mem0Retriever(memory, filters=filters, fields=fields), 2)
        assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS[::2])
    not_m0 = {**USER, "NOT": [{"message_id": "m0"}]}
    rounds = await all_of(Mem0Retriever(memory, filters=not_m0, fields=MARKED), 2)
    assert sorted(one for brought in rounds for one in brought) == sorted(TEXTS[1:])


async def test_what_is_masked_is_left_out_by_mem0_itself(memory, monkeypatch):
    seen = []
    search = type(memory.vector_store).search
    monkeypatch.setattr(
        type(memory.vector_store), "search", lambda self, **given: seen.append(search(self, **given)) or seen[-1]
    )
    recall = await found(Mem0Retriever(memory, filters=USER, fields=MARKED), exclude=["m1", "m5"])
    assert len(recall.evidence) == len(TEXTS) - 2
    assert all(hit.payload["message_id"] not in ("m1", "m5") for hits in seen for hit in hits)


async def test_another_users_memories_stay_out(memory):
    assert texts_of(await found(Mem0Retriever(memory, filters={"user_id": "somebody"}))) == []


async def test_a_refusal_is_told(memory):
    with pytest.raises(RecallFailed, match="mem0: ValueError: filters must contain at least one of"):
        await found(Mem0Retriever(memory, filters={}))


SILENT = """
import asyncio, os, socket, sys, tempfile
from pathlib import Path
reached = []
socket.socket.connect = lambda self, address: reached.append(address)
socket.getaddrinfo = lambda host, *args, **kwargs: reached.append(host) or []
from recollect.app import build_embedder
from recollect_lab.rivals import open_raw_mem0
with tempfile.TemporaryDirectory() as folder:
    memory = open_raw_mem0(Path(folder), asynchronous=False, embedder=build_embedder("wordllama-64"))
    memory.add("The cat sleeps.", user_id="u", infer=False)
    (found,) = memory.search("cat", filters={"user_id": "u"})["results"]
    memory.close()
    from mem0.memory import telemetry
    telemetry.client_telemetry.close()
print(found["memory"], reached, telemetry.MEM0_TELEMETRY, "MEM0_TELEMETRY" in os.environ, "MEM0_DIR" in os.environ)
"""


def test_nothing_is_sent_by_a_memory_of_ours_whatever_the_environment_says(tmp_path):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SILENT], env=environment, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.split("\n")[0] == "The cat sleeps. [] False False False"
    assert list(tmp_path.iterdir()) == []


async def test_what_is_unlike_the_query_stays_out_above_the_threshold(memory):
    whole = await found(Mem0Retriever(memory, filters=USER))
    some = await found(Mem0Retriever(memory, filters=USER, threshold=0.6))
    assert 0 < len(some.evidence) < len(whole.evidence) == len(TEXTS)
    assert texts_of(some) == texts_of(whole)[: len(some.evidence)]
