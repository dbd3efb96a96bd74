"""Language models that run in this process: any causal model of transformers', by name or folder."""

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
    """A reply under way: who listens, whether it is to stop, and when it began; ``None`` while it waits its turn."""

    said: Callable[[str], None] | None
    stop: threading.Event = field(default_factory=threading.Event)
    began: float | None = None


class LocalModel:
    """Generates with a causal language model, in a thread of its own, one reply at a time.

    The likeliest token is taken each time, so that the same prompt gives the same reply. With a folder for states, what
    the model knows after it has read a prompt's system text and prefix is kept there, and read from there when a prompt
    begins in the same way (E-mem, 3.5); a reply's ``notes`` say where that went wrong. Safe to share between threads
    and event loops.

    Args:
        model: a name on the model hub, or a folder; a folder needs no network.
        dtype: "float32", "float16", "bfloat16"; None takes that of the weights.
        settings: of these hold ``corrections``, ``max_tokens`` (1,024 where it is None), ``device`` and
            ``states_bytes``; the others are for servers.
        states: keeps states in this folder; none where left out.
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
        # Not the threads that everything else runs in: calls that wait for one another would fill them.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-local-model")
        self._states = None if states is None else self._folder(states)

    def __repr__(self) -> str:
        return f"LocalModel({str(self._transformer.source)!r})"

    @property
    def name(self) -> str:
        return f"{PROVIDER}:{self._transformer.source}"

    def beside(self, folder: Path) -> LocalModel:
        """The same model, loaded once, with its states in this folder, which is made now if it is not there."""
        other = copy.copy(self)
        other._states = self._folder(folder)
        other._states.place()
        return other

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: Check[T] | None = None) -> Reply[T]:
        """Generate an answer; an error carries what the call cost all the same.

        Raises:
            LimitReached: it would have broken a limit of who asks, and was not begun.
            InvalidReply: no answer met the schema and the check, or each was cut off; carries the last one.
            ModelUnavailable: the model could not be loaded, or failed, or reads less at once than the prompt.
            NoAnswer: it gave nothing.
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
            InvalidReply: the text was cut off at the limit of tokens; carries all of it.
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
            await asyncio.wait([asked])  # until it has counted what it cost
        if not written.text.strip():
            raise NoAnswer(f"{self.name} gave nothing")
        if written.cut:
            raise InvalidReply(f"{self.name} was cut off at its limit of tokens", written.text)

    async def _asked(
        self, request: Request[T], tally: Tally, shelf: Shelf | None, said: Callable[[str], None] | None = None
    ) -> Written:
        """One reply; where nobody waits for it any more, it is broken off."""
        prompt = request.prompt
        talk = Talk(
            system=prompt.system,
            prefix=prompt.prefix,
            # The form of the answer comes last, so that whatever is asked of a segment goes on from the same state.
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
        except ModelError:  # not loaded, or nothing that it could read
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
        """Where states lie, found before anything is waited for: what is forgotten meanwhile must not be kept."""
        place = None if self._states is None else self._states.place()
        return None if self._states is None or place is None else Shelf(folder=self._states, place=place)

    def _folder(self, folder: Path) -> StateFolder:
        return StateFolder(folder, max_bytes=self._settings.states_bytes)


def _require_schemas(answer_type: type[object]) -> None:
    """Raises MissingExtra where an answer has a schema, and what reads it is not installed."""
    if answer_type is not str and importlib.util.find_spec("pydantic") is None:
        raise MissingExtra("pydantic", EXTRA)


def _spoken(text: str) -> str:
    """A reply without what a model that thinks aloud says before it."""
    return _THOUGHTS.sub("", text).strip()
