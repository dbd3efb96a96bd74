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
from recollect.models.language import Prompt, Reply, ReplyCheck
from recollect.models.languages._chat_template import ModelInput
from recollect.models.languages._correction import RawReply, ask_until_valid
from recollect.models.languages._request import ModelRequest
from recollect.models.languages._transformer import EXTRA, StateLocation, TransformerModel, WrittenText
from recollect.models.languages.model_names import LOCAL
from recollect.models.languages.settings import CallSettings
from recollect.models.languages.states import StateFolder
from recollect.models.languages.usage_tally import MeteredStream, UsageTally, estimate_tokens

T = TypeVar("T")

DEFAULT_MAX_TOKENS: Final = 1024

_THINKING: Final = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.S)


@dataclass(slots=True)
class _PendingReply:
    """A reply in progress: its listener, a stop event, and its start, which is ``None`` while the reply waits its
    turn.
    """

    on_text: Callable[[str], None] | None
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
        self._transformer = TransformerModel(model, device=self._settings.device, dtype=dtype)
        # The default threads are not used, because calls that wait for each other would fill them.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-local-model")
        self._states = None if states is None else self._open_folder(states)

    def __repr__(self) -> str:
        return f"LocalModel({str(self._transformer.source)!r})"

    @property
    def name(self) -> str:
        return f"{LOCAL}:{self._transformer.source}"

    def with_state_folder(self, folder: Path) -> LocalModel:
        """Return the same loaded model, with its states in this folder. The folder is made now if needed."""
        other = copy.copy(self)
        other._states = self._open_folder(folder)
        other._states.locate()
        return other

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Generate an answer. An error carries the cost of the call.

        Raises:
            LimitReached: the call would break a limit of its caller, and was not begun.
            InvalidReply: no answer met the schema and the check, or each was cut off; the error carries the last one.
            ModelUnavailable: the model could not be loaded, or failed, or its window is too small for the prompt.
            NoAnswer: the model returned nothing.
            MissingExtra: torch, transformers or pydantic is not installed.
        """
        _require_schemas(answer_type)
        tally, notes, shelf = UsageTally(), list[str](), self._find_location()

        async def ask(request: ModelRequest[T]) -> RawReply:
            written = await self._generate_text(request, tally, shelf)
            if written.note:
                notes.append(written.note)
            return RawReply(text=_strip_thinking(written.text), is_cut=written.is_cut)

        try:
            request = ModelRequest(prompt, answer_type)
            times = self._settings.corrections
            value = await ask_until_valid(request, ask, check, corrections=times, name=self.name, place=self.name)
        except ModelError as exc:
            exc.usage = tally.usage
            raise
        return Reply(value=value, usage=tally.usage, model=self.name, notes=tuple(dict.fromkeys(notes)))

    def stream(self, prompt: Prompt) -> MeteredStream:
        """Generate plain text, piece by piece.

        Raises:
            InvalidReply: the text was cut off at the limit of tokens; the error carries the whole text.
            LimitReached, ModelUnavailable, NoAnswer, MissingExtra: as :meth:`generate`.
        """
        tally = UsageTally()
        return MeteredStream(self._stream_pieces(prompt, tally), tally)

    async def _stream_pieces(self, prompt: Prompt, tally: UsageTally) -> AsyncGenerator[str, None]:
        loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def tell(piece: str | None) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        asked = asyncio.create_task(self._generate_text(ModelRequest(prompt, str), tally, self._find_location(), tell))
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
        if written.is_cut:
            raise InvalidReply(f"{self.name} was cut off at its limit of tokens", written.text)

    async def _generate_text(
        self,
        request: ModelRequest[T],
        tally: UsageTally,
        shelf: StateLocation | None,
        said: Callable[[str], None] | None = None,
    ) -> WrittenText:
        """Return one reply. It is stopped if nobody waits for it any more."""
        prompt = request.prompt
        talk = ModelInput(
            system=prompt.system,
            prefix=prompt.prefix,
            # The form of the answer comes last, so that every question about a segment continues from the same state.
            text=f"{prompt.text}\n\n{request.describe_form()}".rstrip(),
            correction=request.last_correction(),
        )
        needed = estimate_tokens(talk.system, talk.prefix, talk.text, *(talk.correction or ()))
        await tally.request_leave(needed)
        turn, usage = _PendingReply(on_text=said), Usage(calls=1, tokens_in=needed)
        try:
            work = partial(self._run_model, talk, shelf, turn)
            written = await asyncio.get_running_loop().run_in_executor(self._thread, work)
            usage = Usage(
                calls=1, tokens_in=written.tokens_in, tokens_out=written.tokens_out, tokens_cached=written.tokens_cached
            )
        except ModelError:  # the model is not loaded, or cannot read this
            usage = Usage(calls=1)
            raise
        finally:
            turn.stop.set()
            tally.add(Usage() if turn.began is None else usage + Usage(seconds=time.perf_counter() - turn.began))
        return written

    def _run_model(self, talk: ModelInput, shelf: StateLocation | None, turn: _PendingReply) -> WrittenText:
        turn.began = time.perf_counter()
        most = self._settings.max_tokens or DEFAULT_MAX_TOKENS
        reading = self._transformer.tokenize(talk)
        return self._transformer.generate(
            reading, max_tokens=most, location=shelf, stop=turn.stop, on_text=turn.on_text
        )

    def _find_location(self) -> StateLocation | None:
        """Return the place of the states. It is found before any wait, so that nothing that is forgotten meanwhile is
        kept.
        """
        place = None if self._states is None else self._states.locate()
        return None if self._states is None or place is None else StateLocation(folder=self._states, path=place)

    def _open_folder(self, folder: Path) -> StateFolder:
        return StateFolder(folder, max_bytes=self._settings.states_bytes)


def _require_schemas(answer_type: type[object]) -> None:
    """Raise MissingExtra if an answer has a schema and pydantic is not installed."""
    if answer_type is not str and importlib.util.find_spec("pydantic") is None:
        raise MissingExtra("pydantic", EXTRA)


def _strip_thinking(text: str) -> str:
    """Return a reply without the thoughts that some models write before it."""
    return _THINKING.sub("", text).strip()
