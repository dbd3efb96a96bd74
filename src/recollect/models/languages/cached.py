"""Keep the replies of a language model in a folder, by the whole request."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TypeVar

from recollect.domain.usage import Usage
from recollect.models.language import LanguageModel, Prompt, Reply, ReplyCheck
from recollect.models.languages.replies import ReplyMistake, build_schema, dump_answer, parse_answer
from recollect.models.languages.reply_cache import list_cache_folders
from recollect.models.languages.states import with_state_folder
from recollect.models.languages.usage_tally import MeteredStream, UsageTally, open_stream, use_gate

T = TypeVar("T")


class CachedModel:
    """Returns the earlier reply to the same request at no cost. Otherwise it asks the model and keeps the reply.

    Two requests are the same if model, instructions, text and JSON schema are equal. Their operation does not count. If
    a kept reply does not pass the check, the model is asked again. Forgetting a message removes the kept replies that
    quote it (:mod:`recollect.models.languages.reply_cache`), but not replies that describe it in other words. So this
    cache is for evaluation and not for people's memories.

    Args:
        model: the model that answers new requests.
        folder: the folder of the replies, one file each. It is made if needed, and only its owner can read it.
        variant: everything else that changes the answers: the settings and the address of the model.
    """

    def __init__(self, model: LanguageModel, folder: str | Path, *, variant: str = "") -> None:
        self._model, self._folder, self._variant = model, Path(folder), variant

    @property
    def name(self) -> str:
        return self._model.name

    def cache_folders(self) -> frozenset[Path]:
        """Return the folder of the replies, and those of the model behind this cache."""
        return list_cache_folders(self._model) | {self._folder}

    def with_state_folder(self, folder: Path) -> CachedModel:
        """Return the same cache, with the states of its model in this folder."""
        return CachedModel(with_state_folder(self._model, folder), self._folder, variant=self._variant)

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Return the kept answer with an empty usage, or generate one.

        Raises:
            ModelError: the model raised it; nothing is kept then.
            OSError: the folder cannot be written.
        """
        path = self._reply_path(prompt, answer_type)
        kept = await asyncio.to_thread(_read_reply, path)
        if kept is not None:
            try:
                return Reply(value=parse_answer(kept, answer_type, check), usage=Usage(), model=self.name)
            except ReplyMistake:
                pass  # the check differs from the one that it passed
        reply = await self._model.generate(prompt, answer_type, check=check)
        await asyncio.to_thread(self._keep, path, dump_answer(reply.value, answer_type))
        return reply

    def stream(self, prompt: Prompt) -> MeteredStream:
        """Yield the kept text in one piece, or generate one and keep it when it is complete.

        Raises:
            ModelError, OSError: as :meth:`generate`.
        """
        tally = UsageTally()
        return MeteredStream(self._stream_pieces(prompt, tally), tally)

    async def _stream_pieces(self, prompt: Prompt, tally: UsageTally) -> AsyncGenerator[str, None]:
        path = self._reply_path(prompt, str)
        kept = await asyncio.to_thread(_read_reply, path)
        if kept is not None:
            yield kept
            return
        with use_gate(tally.gate):
            pieces = open_stream(self._model, prompt)
        said = ""
        try:
            async for piece in pieces:
                said += piece
                yield piece
        finally:
            await pieces.aclose()
            tally.add(pieces.usage)
        await asyncio.to_thread(self._keep, path, said)

    def _reply_path(self, prompt: Prompt, answer_type: type[object]) -> Path:
        request = [self.name, self._variant, prompt.system, prompt.full_text, build_schema(answer_type)]
        key = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.txt"

    def _keep(self, path: Path, text: str) -> None:
        """Write the whole text or nothing, even if another process writes the same text."""
        for folder in (self._folder, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")  # only its owner can read it
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise


def _read_reply(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
