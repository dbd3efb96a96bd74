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
from recollect.models.language import Check, LanguageModel, Prompt, Reply
from recollect.models.languages.replies import Mistake, answer_in, packed, schema_of
from recollect.models.languages.states import beside
from recollect.models.languages.tally import Streamed, Tally, gated, metered_stream

T = TypeVar("T")


class Cached:
    """Returns the earlier reply to the same request at no cost. Otherwise it asks the model and keeps the reply.

    Two requests are the same if model, instructions, text and JSON schema are equal. Their operation does not count. If
    a kept reply does not pass the check, the model is asked again. Forgetting a message does not remove kept replies,
    so this cache is for evaluation and not for people's memories.

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

    def beside(self, folder: Path) -> Cached:
        """Return the same cache, with the states of its model in this folder."""
        return Cached(beside(self._model, folder), self._folder, variant=self._variant)

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Return the kept answer with an empty usage, or generate one.

        Raises:
            ModelError: the model raised it; nothing is kept then.
            OSError: the folder cannot be written.
        """
        path = self._path(prompt, answer_type)
        kept = await asyncio.to_thread(_read, path)
        if kept is not None:
            try:
                return Reply(value=answer_in(kept, answer_type, check), usage=Usage(), model=self.name)
            except Mistake:
                pass  # the check differs from the one that it passed
        reply = await self._model.generate(prompt, answer_type, check=check)
        await asyncio.to_thread(self._keep, path, packed(reply.value, answer_type))
        return reply

    def stream(self, prompt: Prompt) -> Streamed:
        """Yield the kept text in one piece, or generate one and keep it when it is complete.

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


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
