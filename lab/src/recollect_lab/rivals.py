"""Run MemR3 over three memories with the same messages: a bank, Mem0 in raw mode, and a LangGraph store in memory.

The messages are those of the shipped sample. The questions are some of the twelve that every recipe is asked. The
requests to the model contain nothing that changes from run to run, such as the ids that Mem0 makes up. So replies can
be recorded once and replayed. All three search with wordllama's embeddings. Nothing is downloaded or sent anywhere.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from recollect.app import Memory, build_embedder, build_rehearsal_model
from recollect.domain.answers import Answer
from recollect.domain.messages import Message
from recollect.errors import InvalidInput, MissingExtra
from recollect.integrations import MetadataFields, answer_over
from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel
from recollect.sample import sample_path
from recollect_lab.datasets.dataset import DatasetConversation, DatasetQuestion
from recollect_lab.datasets.jsonl import load_jsonl
from recollect_lab.manual_clock import ManualClock
from recollect_lab.rehearsals.rehearsal import AnsweredQuestion, Progress
from recollect_lab.rehearsals.token_f1 import compute_token_f1

NAME: Final = "adapters"
"""The name of the recording of the three runs."""

QUESTIONS: Final = ("q06", "q15", "q49", "q65")
"""Four of the twelve questions.

One message has the answer, the answer needs two sessions, the answer was corrected later, and nobody said the answer.
"""

EMBEDDER: Final = "wordllama"

_USER: Final = "sample"
_KEPT_NOTE: Final = MetadataFields(id="message_id", sources="message_id")

Ask = Callable[[DatasetQuestion], Any]


async def run_adapter(base_url: str, backend: str, progress: Progress = lambda _: None) -> tuple[AnsweredQuestion, ...]:
    """Store the sample's messages in a memory, ask the questions through MemR3, and return the answers in their order.

    Args:
        base_url: the address of the endpoint for the model, such as a replayed recording.
        backend: ``bank``, ``mem0`` or ``langgraph``.
        progress: receives a line for each step.

    Raises:
        InvalidInput: there is no such backend.
        MissingExtra: the package of the backend is not installed.
        ModelError: a question could not be answered.
    """
    return await run_over_backend(backend, build_rehearsal_model(base_url), progress)


async def run_over_backend(
    backend: str, model: LanguageModel, progress: Progress = lambda _: None
) -> tuple[AnsweredQuestion, ...]:
    """Let MemR3 answer the questions over another memory, as :func:`run_adapter` does, but with any model.

    Raises:
        InvalidInput, MissingExtra, ModelError: as for :func:`run_adapter`.
    """
    if backend not in BACKENDS:
        raise InvalidInput(f"no backend {backend!r}; there are: {', '.join(BACKENDS)}")
    with sample_path() as path:
        conversation = load_jsonl(path).conversations[0]
    questions = [one for one in conversation.questions if one.id in QUESTIONS]
    with TemporaryDirectory(prefix="recollect-adapters-") as folder:
        async with BACKENDS[backend](conversation, model, Path(folder)) as ask:
            progress(f"{backend} has {sum(len(session.messages) for session in conversation.sessions)} messages")
            answers: list[Answer] = []
            for question in questions:
                answers.append(await ask(question))
                progress(f"{backend} was asked: {question.text}")
    return tuple(
        AnsweredQuestion(question=question, answer=answer, f1=compute_token_f1(answer.text, question.answer))
        for question, answer in zip(questions, answers, strict=True)
    )


@asynccontextmanager
async def _open_bank(conversation: DatasetConversation, model: LanguageModel, folder: Path) -> AsyncIterator[Ask]:
    clock = ManualClock(conversation.sessions[0].at)
    async with Memory.open(folder, recipe="memr3", model=model, clock=clock) as memory:
        bank = await memory.bank(_USER)
        for session in conversation.sessions:
            clock.set(session.at + timedelta(hours=1))
            await bank.retain(session.messages, session=session.id)

        async def ask(question: DatasetQuestion) -> Answer:
            return await bank.ask(question.text, now=question.at)

        yield ask


@asynccontextmanager
async def _open_mem0(conversation: DatasetConversation, model: LanguageModel, folder: Path) -> AsyncIterator[Ask]:
    from recollect.integrations.mem0 import Mem0Retriever

    memory = open_raw_mem0(folder, asynchronous=True, embedder=build_embedder(EMBEDDER))
    for session in conversation.sessions:
        for message in session.messages:
            assert message.at is not None
            await memory.add(
                [{"role": message.role.value, "content": _render_message(message), "name": message.speaker}],
                user_id=_USER,
                run_id=session.id,
                metadata={_KEPT_NOTE.id: message.id, _KEPT_NOTE.at: message.at.isoformat()},
                infer=False,
            )
    retriever = Mem0Retriever(memory, filters={"user_id": _USER}, fields=_KEPT_NOTE)
    try:
        yield partial(_ask, retriever, model)
    finally:
        memory.close()


@asynccontextmanager
async def _open_langgraph(conversation: DatasetConversation, model: LanguageModel, folder: Path) -> AsyncIterator[Ask]:
    try:
        from langgraph.store.memory import InMemoryStore
    except ImportError as exc:
        raise MissingExtra("langgraph", "langgraph") from exc
    from recollect.integrations.langgraph import LangGraphRetriever

    embedder = build_embedder(EMBEDDER)

    async def embed(texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = (await embedder.embed(texts)).tolist()
        return vectors

    store = InMemoryStore(index={"dims": embedder.dimension, "embed": embed, "fields": ["text"]})
    for session in conversation.sessions:
        for message in session.messages:
            assert message.at is not None
            assert message.id is not None
            value = {
                "text": _render_message(message),
                "speaker": message.speaker,
                "session": session.id,
                _KEPT_NOTE.at: message.at.isoformat(),
                _KEPT_NOTE.id: message.id,
            }
            await store.aput((_USER, session.id), message.id, value)
    yield partial(_ask, LangGraphRetriever(store, (_USER,), fields=_KEPT_NOTE), model)


def _render_message(message: Message) -> str:
    """Return the text of a message with the captions of its pictures, as a bank stores it."""
    return message.text + "".join(f"\n[{caption}]" for caption in message.captions)


async def _ask(retriever: Any, model: LanguageModel, question: DatasetQuestion) -> Answer:
    return await answer_over(retriever, question.text, model=model, now=question.at)


BACKENDS: Final[Mapping[str, Any]] = {"bank": _open_bank, "mem0": _open_mem0, "langgraph": _open_langgraph}
"""The functions that store the messages and return a way to ask the questions, by backend."""


def open_raw_mem0(folder: Path, *, asynchronous: bool, embedder: Embedder) -> Any:
    """Return a ``mem0.Memory`` or ``mem0.AsyncMemory`` with its vectors in a folder. No model is asked, and nothing is
    sent.

    Use it only for messages that are added with ``infer=False``, because its language model has no key.

    Raises:
        MissingExtra: mem0ai is not installed.
    """
    try:
        with _without_telemetry(folder):
            from mem0 import AsyncMemory, Memory
            from mem0.configs.base import MemoryConfig
            from mem0.embeddings.base import EmbeddingBase
    except ImportError as exc:
        raise MissingExtra("mem0ai", "mem0") from exc

    class Ours(EmbeddingBase):
        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            vectors: list[list[float]] = _embed_blocking(embedder, [text])
            return vectors[0]

        def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
            return _embed_blocking(embedder, texts)

    nowhere = {"provider": "openai", "config": {"api_key": "none", "model": "none"}}
    dimension = embedder.dimension
    config = MemoryConfig(
        vector_store={
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "embedding_model_dims": dimension, "on_disk": True},
        },
        llm=nowhere,
        embedder=nowhere,
        history_db_path=":memory:",
    )
    memory = (AsyncMemory if asynchronous else Memory)(config)
    ours = Ours()
    ours.config.embedding_dims = dimension
    memory.embedding_model = ours
    return memory


def _embed_blocking(embedder: Embedder, texts: list[str]) -> list[list[float]]:
    async def embed() -> list[list[float]]:
        vectors: list[list[float]] = (await embedder.embed(texts)).tolist()
        return vectors

    with ThreadPoolExecutor(1) as aside:  # Mem0 waits for embeddings, even in a thread with a running event loop
        return aside.submit(asyncio.run, embed()).result()


@contextmanager
def _without_telemetry(folder: Path) -> Iterator[None]:
    """Set the environment for the import of Mem0: no telemetry, and its own files in the folder.

    Mem0 reads these two settings only once, when it is imported.
    """
    if "mem0" in sys.modules:
        yield
        return
    ours = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
