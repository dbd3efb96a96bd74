"""Call any language model that pydantic-ai supports: OpenAI and compatible servers, Anthropic, Google, and others.

pydantic-ai, its types and its errors stay in this package, which imports it on first use. An API key goes to the server
and nowhere else: not into a repr and not into an error message, even if the answer of the server quotes the key.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

from recollect.domain.usage import Usage
from recollect.errors import InvalidInput, InvalidReply, ModelError, ModelUnavailable, NoAnswer
from recollect.models.keys import hide_credentials, mask_keys
from recollect.models.language import Prompt, Reply, ReplyCheck
from recollect.models.languages._connection_keeper import ConnectionKeeper
from recollect.models.languages._correction import RawReply, ask_until_valid
from recollect.models.languages._errors import (
    compute_pause,
    estimate_cost,
    has_key,
    is_transient,
    make_unavailable,
    refuses_schema,
)
from recollect.models.languages._providers import (
    OPENAI,
    accepts_cache_marks,
    accepts_temperature,
    find_model,
    list_secret_keys,
)
from recollect.models.languages._request import (
    ModelRequest,
    build_parameters,
    estimate_request_tokens,
    read_piece,
    read_usage,
)
from recollect.models.languages.model_names import parse_model_name
from recollect.models.languages.settings import CallSettings
from recollect.models.languages.usage_tally import MeteredStream, UsageTally

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

T = TypeVar("T")
V = TypeVar("V")

TAG_CHARACTERS: Final = 512  # the maximum in OpenAI's metadata

_log = logging.getLogger(__name__)


class _SchemaRefused(Exception):
    """The server does not accept a JSON schema."""


@dataclass(frozen=True, slots=True)
class _LoopConnection:
    """The connection to a model from one event loop. A connection belongs to the loop that opened it."""

    model: Model[Any]
    slots: asyncio.Semaphore
    keys: tuple[str, ...]
    keeper: ConnectionKeeper


class PydanticModel:
    """Generates with a model of pydantic-ai.

    Calls in progress share connections, which stay open for half a minute after the last call. Threads and event loops
    may share the model. The limit on concurrency applies to each event loop.

    Args:
        name: ``provider:model`` as pydantic-ai names them, or ``provider:model@base_url``. ``openai:`` with a base URL
            is any compatible server.
        base_url: for example ``http://localhost:11434/v1``. Without it, the provider's own address is used.
        api_key: for the provider or the server, and never shown. Without it, the provider's library looks in the
            environment, except for a base URL.
        settings: the settings of each call.
        sleep: waits between attempts.

    Raises:
        InvalidInput: the name, the address or the key cannot be used.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        settings: CallSettings | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._name = parse_model_name(name)
        base_url = base_url or self._name.base_url
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"the base URL is {hide_credentials(base_url)!r}; it must begin with http:// or https://"
            )
        if api_key is not None and not (api_key and api_key.isascii() and api_key.isprintable()):
            raise InvalidInput("the API key has characters that a header cannot carry; was a line end copied with it?")
        self._base_url, self._api_key = base_url, api_key
        self._settings = settings or CallSettings()
        self._sleep = sleep
        self._schema_refused = False
        self._lines: dict[asyncio.AbstractEventLoop, _LoopConnection] = {}

    def __repr__(self) -> str:
        return f"PydanticModel({self._place!r})"

    @property
    def name(self) -> str:
        return str(self._name)

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Generate an answer. An error carries the cost of the call.

        If a request reports no usage, it counts with about the tokens of its prompt, unless the server refused it or
        was not reached.

        Raises:
            LimitReached: a request would have broken a limit of its caller, and was not sent.
            InvalidReply: no answer met the schema and the check, or each was cut off; the error carries the last one.
            ModelUnavailable: the model could not be reached.
            NoAnswer: the model refused, or returned nothing.
            MissingExtra: pydantic-ai, or the package of the provider, is not installed.
        """
        tally = UsageTally()
        async with self._connect(tally) as line:
            value = await self._ask_until_valid(line, ModelRequest(prompt, answer_type), check, tally)
        return Reply(value=value, usage=tally.usage, model=self.name)

    def stream(self, prompt: Prompt) -> MeteredStream:
        """Generate plain text, piece by piece. A request that fails before its first piece is tried again.

        Raises:
            InvalidReply: the text was cut off at the limit of tokens; the error carries the whole text.
            ModelUnavailable, MissingExtra: as :meth:`generate`.
        """
        tally = UsageTally()
        return MeteredStream(self._stream_pieces(prompt, tally), tally)

    async def _ask_until_valid(
        self, line: _LoopConnection, request: ModelRequest[T], check: ReplyCheck[T] | None, tally: UsageTally
    ) -> T:
        """Ask until an answer can be used, and show the model its mistake each time."""

        async def ask(request: ModelRequest[T]) -> RawReply:
            response = await self._ask(line, request, tally)
            return RawReply(text=self._read_reply(line, response), is_cut=response.finish_reason == "length")

        return await ask_until_valid(
            request,
            ask,
            check,
            corrections=self._settings.corrections,
            name=self.name,
            place=self._place,
            render_error=partial(mask_keys, keys=line.keys),
        )

    def _read_reply(self, line: _LoopConnection, response: ModelResponse) -> str:
        """Return the text of a response. Blanks count as nothing.

        Raises:
            NoAnswer: the model refused.
        """
        reply = (response.text or "").strip()
        if response.finish_reason == "content_filter":
            refusal = (response.provider_details or {}).get("refusal") or reply or "no reason given"
            raise NoAnswer(mask_keys(f"{self._place} refused to answer: {refusal}", line.keys))
        return reply

    async def _ask(self, line: _LoopConnection, request: ModelRequest[T], tally: UsageTally) -> ModelResponse:
        """Return one response: with a schema as long as the server accepts one, or with a prompt that contains the
        schema.
        """
        if request.schema is not None and self._sends_schema(line):
            try:
                return await self._send_with_retries(line, partial(self._send, line, request, tally, native=True))
            except _SchemaRefused as exc:
                self._schema_refused = True
                _log.warning("the JSON schema goes into the prompt instead, since the server refuses it: %s", exc)
        return await self._send_with_retries(line, partial(self._send, line, request, tally, native=False))

    def _sends_schema(self, line: _LoopConnection) -> bool:
        if self._settings.structured == "auto":
            return not self._schema_refused and bool(line.model.profile.get("supports_json_schema_output"))
        return self._settings.structured == "schema"

    async def _send_with_retries(self, line: _LoopConnection, send: Callable[[], Awaitable[V]]) -> V:
        """Send a request, and send it again while the problem may end soon.

        Raises:
            ModelUnavailable: the problem did not end.
            LimitReached: the request was not sent.
            _SchemaRefused: the server may accept the request without a schema.
        """
        for attempt in count():
            try:
                async with line.slots:
                    return await send()
            except (_SchemaRefused, ModelError):
                raise
            except Exception as exc:
                pause = self._compute_pause(attempt, exc)
                if pause is None:
                    raise self._make_error(line, exc) from (None if has_key(exc, line.keys) else exc)
            await self._sleep(pause)
        raise AssertionError("unreachable")

    def _compute_pause(self, attempt: int, error: Exception) -> float | None:
        """Return the seconds until the next attempt, or ``None`` if there is none."""
        if attempt >= self._settings.retries or not is_transient(error):
            return None
        asked = getattr(error, "retry_after", None)
        return compute_pause(attempt, asked, first=self._settings.pause, share=random.random())

    async def _send(
        self, line: _LoopConnection, request: ModelRequest[T], tally: UsageTally, *, native: bool
    ) -> ModelResponse:
        """Send one request over the network."""
        from pydantic_ai.direct import model_request

        prompted = request.schema is not None and not native
        messages = request.messages(prompted=prompted, marked=accepts_cache_marks(line.model))
        cost = sent = Usage(calls=1, tokens_in=estimate_request_tokens(messages))
        await tally.request_leave(sent.tokens_in)
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await model_request(
                    line.model,
                    messages,
                    model_settings=self._model_settings(line, request.prompt),
                    model_request_parameters=build_parameters(request, native=native),
                )
            cost = Usage(calls=1) + read_usage(response.usage, messages, response.text)
        except TimeoutError as exc:
            raise TimeoutError(f"did not answer in {self._settings.timeout:g} s") from exc
        except Exception as exc:
            cost = estimate_cost(exc, sent)
            if native and self._settings.structured == "auto" and refuses_schema(exc):
                raise _SchemaRefused(self._make_error(line, exc)) from None
            raise
        finally:
            tally.add(cost + Usage(seconds=time.perf_counter() - start))
        return response

    async def _stream_pieces(self, prompt: Prompt, tally: UsageTally) -> AsyncGenerator[str, None]:
        begun = False
        async with self._connect(tally) as line:
            for attempt in count():
                try:
                    async with aclosing(self._stream_once(line, prompt, tally)) as pieces:
                        async for piece in pieces:
                            begun = True
                            yield piece
                    return
                except ModelError:
                    raise
                except Exception as exc:
                    pause = None if begun else self._compute_pause(attempt, exc)
                    if pause is None:
                        raise self._make_error(line, exc) from (None if has_key(exc, line.keys) else exc)
                await self._sleep(pause)

    async def _stream_once(self, line: _LoopConnection, prompt: Prompt, tally: UsageTally) -> AsyncGenerator[str, None]:
        """Yield the pieces of one streamed request."""
        from pydantic_ai.direct import model_request_stream

        request = ModelRequest(prompt, str)
        messages = request.messages(prompted=False, marked=accepts_cache_marks(line.model))
        cost = sent = Usage(calls=1, tokens_in=estimate_request_tokens(messages))
        settings = self._model_settings(line, prompt)
        if "timeout" not in line.model.unsupported_settings:
            settings["timeout"] = self._settings.timeout
        async with line.slots:
            await tally.request_leave(sent.tokens_in)
            start, said, counted = time.perf_counter(), "", None
            try:
                async with model_request_stream(line.model, messages, model_settings=settings) as stream:
                    async for event in stream:
                        if piece := read_piece(event):
                            said += piece
                            yield piece
                    counted = stream.usage
                    self._require_whole(line, stream.get(), said)
            except Exception as exc:
                cost = estimate_cost(exc, sent)
                raise
            finally:
                if said or counted is not None:
                    cost = Usage(calls=1) + read_usage(counted, messages, said)
                tally.add(cost + Usage(seconds=time.perf_counter() - start))

    def _require_whole(self, line: _LoopConnection, response: ModelResponse, said: str) -> None:
        if not self._read_reply(line, response):
            raise NoAnswer(f"{self._place} gave nothing")
        if response.finish_reason == "length":
            raise InvalidReply(f"{self.name} was cut off at its limit of tokens", mask_keys(said, line.keys))

    def _model_settings(self, line: _LoopConnection, prompt: Prompt) -> ModelSettings:
        settings: ModelSettings = {}
        if "max_retries" not in line.model.unsupported_settings:
            settings["max_retries"] = 0  # this class tries again, in the same way for every provider
        if self._settings.temperature is not None and accepts_temperature(line.model):
            settings["temperature"] = self._settings.temperature
        if self._settings.max_tokens is not None:
            settings["max_tokens"] = self._settings.max_tokens
        if self._settings.tags and self._name.provider in OPENAI:
            settings["extra_body"] = {"metadata": _make_tags(prompt)}
        return settings

    @asynccontextmanager
    async def _connect(self, tally: UsageTally) -> AsyncIterator[_LoopConnection]:
        """Yield a connection for the duration of a call. An error that ends the call carries its cost."""
        try:
            line = await self._find_connection()
            async with line.model:
                line.keeper.mark_used()
                yield line
        except ModelError as exc:
            exc.usage = tally.usage
            raise

    async def _find_connection(self) -> _LoopConnection:
        loop = asyncio.get_running_loop()
        if loop not in self._lines:
            with suppress(ImportError):  # the error below explains it
                await asyncio.to_thread(import_module, "pydantic_ai.direct")  # the import takes a second or two
        if loop not in self._lines:
            model = find_model(self._name, self._base_url, self._api_key)
            slots = asyncio.Semaphore(self._settings.concurrency)
            for ended in [other for other in self._lines if other.is_closed()]:
                self._lines.pop(ended, None)
            self._lines[loop] = _LoopConnection(
                model, slots, list_secret_keys(model, self._api_key, self._base_url), ConnectionKeeper(model)
            )
        return self._lines[loop]

    def _make_error(self, line: _LoopConnection, error: Exception) -> ModelUnavailable:
        return make_unavailable(self._place, error, line.keys)

    @property
    def _place(self) -> str:
        """Return the name with the given address, without user name, password and query."""
        if self._base_url is None:
            return self.name
        scheme, _, rest = self._base_url.partition("://")
        return f"{self.name} at {scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _make_tags(prompt: Prompt) -> dict[str, str]:
    tags = {"role": str(prompt.role), "operation": prompt.operation, "subject": prompt.subject}
    return {name: value[:TAG_CHARACTERS] for name, value in tags.items()}
