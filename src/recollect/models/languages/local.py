"""Run language models in this process: any causal model of transformers, by name or folder."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import re
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from recollect.domain.usage import Usage
from recollect.errors import InvalidReply, MissingExtra, ModelError, NoAnswer
from recollect.models.language import Check, Prompt, Reply
from recollect.models.languages._agree import Words, agreed
from recollect.models.languages._chat import Talk
from recollect.models.languages._request import Request
from recollect.models.languages._transformer import EXTRA, Shelf, Transformer, Written
from recollect.models.languages.settings import CallSettings
from recollect.models.languages.states import StateFolder
from recollect.models.languages.tally import Streamed, Tally, estimated_tokens

T = TypeVar("T")

PROVIDER: Final = "local"
MOST_TOKENS: Final = 1024

_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.S)


@dataclass(slots=True)
class _Turn:
    """A reply in progress: its listener, a stop event, and its start, which is ``None`` while the reply waits its
    turn.
    """

    said: Callable[[str], None] | None
    stop: threading.Event = field(default_factory=threading.Event)
    began: float | None = None


class LocalModel:
    """Generates with a causal language model, in its own thread, one reply at a time.

    It takes the most likely token each time, so the same prompt gives the same reply. With a folder for states, it
    keeps its state after the system text and the prefix of a prompt, and loads this state for a prompt that begins in
    the same way (E-mem, 3.5). The ``notes`` of a reply describe problems with states. Threads and event loops may share
    it.

    Args:
        model: a name on the model hub, or a folder. A folder needs no network.
        dtype: "float32", "float16" or "bfloat16". None takes the type of the weights.
        settings: only ``corrections``, ``max_tokens`` (1,024 for None), ``device`` and ``states_bytes`` have an effect.
            The others are for servers.
        states: the folder for states. Without it no states are kept.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        dtype: str | None = None,
        settings: CallSettings | None = None,
        states: Path | None = None,
    ) -> None:
        self._settings = settings or CallSettings()
        self._transformer = Transformer(model, device=self._settings.device, dtype=dtype)
        # The default threads are not used, because calls that wait for each other would fill them.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-local-model")
        self._states = None if states is None else self._folder(states)

    def __repr__(self) -> str:
        return f"LocalModel({str(self._transformer.source)!r})"

    @property
    def name(self) -> str:
        return f"{PROVIDER}:{self._transformer.source}"

    def beside(self, folder: Path) -> LocalModel:
        """Return the same loaded model, with its states in this folder. The folder is made now if needed."""
        other = copy.copy(self)
        other._states = self._folder(folder)
        other._states.place()
        return other

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer. An error carries the cost of the call.

        Raises:
            LimitReached: the call would break a limit of its caller, and was not begun.
            InvalidReply: no answer met the schema and the check, or each was cut off; the error carries the last one.
            ModelUnavailable: the model could not be loaded, or failed, or its window is too small for the prompt.
            NoAnswer: the model returned nothing.
            MissingExtra: torch, transformers or pydantic is not installed.
        """
        _require_schemas(answer_type)
        tally, notes, shelf = Tally(), list[str](), self._shelf()

        async def ask(request: Request[T]) -> Words:
            written = await self._asked(request, tally, shelf)
            if written.note:
                notes.append(written.note)
            return Words(text=_spoken(written.text), cut=written.cut)

        try:
            request = Request(prompt, answer_type)
            times = self._settings.corrections
            value = await agreed(request, ask, check, corrections=times, name=self.name, place=self.name)
        except ModelError as exc:
            exc.usage = tally.usage
            raise
        return Reply(value=value, usage=tally.usage, model=self.name, notes=tuple(dict.fromkeys(notes)))

    def stream(self, prompt: Prompt) -> Streamed:
        """Generate plain text, piece by piece.

        Raises:
            InvalidReply: the text was cut off at the limit of tokens; the error carries the whole text.
            LimitReached, ModelUnavailable, NoAnswer, MissingExtra: as :meth:`generate`.
        """
        tally = Tally()
        return Streamed(self._pieces(prompt, tally), tally)

    async def _pieces(self, prompt: Prompt, tally: Tally) -> AsyncGenerator[str, None]:
        loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def tell(piece: str | None) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        asked = asyncio.create_task(self._asked(Request(prompt, str), tally, self._shelf(), tell))
        asked.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            written = await asked
        except ModelError as exc:
            exc.usage = tally.usage
            raise
        finally:
            asked.cancel()
            await asyncio.wait([asked])  # until it has counted its cost
        if not written.text.strip():
            raise NoAnswer(f"{self.name} gave nothing")
        if written.cut:
            raise InvalidReply(f"{self.name} was cut off at its limit of tokens", written.text)

    async def _asked(
        self, request: Request[T], tally: Tally, shelf: Shelf | None, said: Callable[[str], None] | None = None
    ) -> Written:
        """Return one reply. It is stopped if nobody waits for it any more."""
        prompt = request.prompt
        talk = Talk(
            system=prompt.system,
            prefix=prompt.prefix,
            # The form of the answer comes last, so that every question about a segment continues from the same state.
            text=f"{prompt.text}\n\n{request.form()}".rstrip(),
            correction=request.correction(),
        )
        needed = estimated_tokens(talk.system, talk.prefix, talk.text, *(talk.correction or ()))
        await tally.ask_leave(needed)
        turn, usage = _Turn(said=said), Usage(calls=1, tokens_in=needed)
        try:
            work = partial(self._work, talk, shelf, turn)
            written = await asyncio.get_running_loop().run_in_executor(self._thread, work)
            usage = Usage(
                calls=1, tokens_in=written.tokens_in, tokens_out=written.tokens_out, tokens_cached=written.cached
            )
        except ModelError:  # the model is not loaded, or cannot read this
            usage = Usage(calls=1)
            raise
        finally:
            turn.stop.set()
            tally.add(Usage() if turn.began is None else usage + Usage(seconds=time.perf_counter() - turn.began))
        return written

    def _work(self, talk: Talk, shelf: Shelf | None, turn: _Turn) -> Written:
        turn.began = time.perf_counter()
        most = self._settings.max_tokens or MOST_TOKENS
        reading = self._transformer.read(talk)
        return self._transformer.write(reading, most=most, shelf=shelf, stop=turn.stop, said=turn.said)

    def _shelf(self) -> Shelf | None:
        """Return the place of the states. It is found before any wait, so that nothing that is forgotten meanwhile is
        kept.
        """
        place = None if self._states is None else self._states.place()
        return None if self._states is None or place is None else Shelf(folder=self._states, place=place)

    def _folder(self, folder: Path) -> StateFolder:
        return StateFolder(folder, max_bytes=self._settings.states_bytes)


def _require_schemas(answer_type: type[object]) -> None:
    """Raise MissingExtra if an answer has a schema and pydantic is not installed."""
    if answer_type is not str and importlib.util.find_spec("pydantic") is None:
        raise MissingExtra("pydantic", EXTRA)


def _spoken(text: str) -> str:
    """Return a reply without the thoughts that some models write before it."""
    return _THOUGHTS.sub("", text).strip()
