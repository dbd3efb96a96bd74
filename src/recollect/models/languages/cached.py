"""Replies kept in a folder, by the whole request."""

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
from recollect.models.language import Check, LanguageModel, Prompt, Reply
from recollect.models.languages.replies import Mistake, answer_in, packed, schema_of
from recollect.models.languages.states import beside
from recollect.models.languages.tally import Streamed, Tally, gated, metered_stream

T = TypeVar("T")


class Cached:
    """Gives the reply that the same request had before, at no cost; else asks the model, and keeps what it says.

    The same request is the same model, instructions, text and JSON schema; not what they are asked for. A kept reply
    that does not pass the check is asked for anew. What is kept here is not forgotten with the messages that it came
    from: it is for evaluation, not for people's memories.

    Args:
        model: who answers what is not kept.
        folder: where replies are kept, a file each; made if it is not there, for its owner's eyes alone.
        variant: whatever else changes the model's answers: its settings, its address.
    """

    def __init__(self, model: LanguageModel, folder: str | Path, *, variant: str = "") -> None:
        self._model, self._folder, self._variant = model, Path(folder), variant

    @property
    def name(self) -> str:
        return self._model.name

    def beside(self, folder: Path) -> Cached:
        """The same with the states of the model that answers in this folder."""
        return Cached(beside(self._model, folder), self._folder, variant=self._variant)

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Give the kept answer, with a usage of nothing; else generate one.

        Raises:
            ModelError: what the model raises; nothing is kept then.
            OSError: the folder cannot be written.
        """
        path = self._path(prompt, answer_type)
        kept = await asyncio.to_thread(_read, path)
        if kept is not None:
            try:
                return Reply(value=answer_in(kept, answer_type, check), usage=Usage(), model=self.name)
            except Mistake:
                pass  # another check than the one that it passed
        reply = await self._model.generate(prompt, answer_type, check=check)
        await asyncio.to_thread(self._keep, path, packed(reply.value, answer_type))
        return reply

    def stream(self, prompt: Prompt) -> Streamed:
        """Give the kept text in one piece; else generate one, and keep it once it is whole.

        Raises:
            ModelError, OSError: as :meth:`generate`.
        """
        tally = Tally()
        return Streamed(self._pieces(prompt, tally), tally)

    async def _pieces(self, prompt: Prompt, tally: Tally) -> AsyncGenerator[str, None]:
        path = self._path(prompt, str)
        kept = await asyncio.to_thread(_read, path)
        if kept is not None:
            yield kept
            return
        with gated(tally.gate):
            pieces = metered_stream(self._model, prompt)
        said = ""
        try:
            async for piece in pieces:
                said += piece
                yield piece
        finally:
            await pieces.aclose()
            tally.add(pieces.usage)
        await asyncio.to_thread(self._keep, path, said)

    def _path(self, prompt: Prompt, answer_type: type[object]) -> Path:
        request = [self.name, self._variant, prompt.system, prompt.asked, schema_of(answer_type)]
        key = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.txt"

    def _keep(self, path: Path, text: str) -> None:
        """Write all of it or nothing, whoever else writes the same."""
        for folder in (self._folder, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
