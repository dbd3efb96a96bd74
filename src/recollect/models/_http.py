"""Post JSON to a model's endpoint, with retries. All adapters of endpoints use this module.

httpx and its errors stay in this module. An API key goes into a header and nowhere else: not into a repr and not into
an error message, even if the answer of the server quotes the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput, MissingExtra, ModelUnavailable
from recollect.models.keys import hide_credentials, list_url_keys, mask_keys, shows_key

if TYPE_CHECKING:
    import ssl

    import httpx

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
EXCERPT_CHARACTERS = 300
_MOST_READ = 4 * EXCERPT_CHARACTERS  # of an answer, for its excerpt

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An address to post to, with its key and the patience for it.

    ``timeout`` is the number of seconds for one request, from connecting to the last byte of the answer, with all its
    tries and the pauses between them. So a server that sends a byte now and then cannot hold a call for ever.
    ``retries`` is the number of further tries after a broken connection, a 408, 429 or 5xx, as long as there is time.
    ``transport`` is for tests and proxies.

    Raises:
        InvalidInput: the address is not http(s), or the key cannot be a header value.
    """

    url: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 3
    transport: httpx.AsyncBaseTransport | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"the endpoint's address is {hide_credentials(self.url)!r}; it must begin with http:// or https://"
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InvalidInput("the API key has characters that a header cannot carry; was a line end copied with it?")

    async def post_all(self, bodies: Sequence[Mapping[str, Json]]) -> list[object]:
        """Post one body after another over one connection, and return the decoded JSON answers in the same order.

        The connection is closed afterwards. Several event loops may share an adapter, but they cannot share a
        connection.

        Raises:
            ModelUnavailable: the endpoint was not reached, or its answer was an error or not JSON.
            MissingExtra: httpx is not installed.
        """
        try:
            import httpx
        except ImportError as exc:
            raise MissingExtra("httpx", "endpoints") from exc
        async with httpx.AsyncClient(
            headers={"Authorization": f"Bearer {self.api_key}"} if self.api_key else None,
            timeout=self.timeout,
            transport=self.transport,
            verify=self._ssl_context,
        ) as client:
            return [await self._post(client, body) for body in bodies]

    async def _post(self, client: httpx.AsyncClient, body: Mapping[str, Json]) -> object:
        until = asyncio.get_running_loop().time() + self.timeout
        try:
            async with asyncio.timeout_at(until) as deadline:
                response = await self._try_until_answered(client, body, until)
        except TimeoutError as exc:
            if not deadline.expired():
                raise
            raise self.failure(f"did not answer in {self.timeout:g} s") from exc
        if isinstance(response, Exception):
            raise self.failure(f"could not be reached: {type(response).__name__} {response}") from self._cause(response)
        return self._decode(response)

    async def _try_until_answered(
        self, client: httpx.AsyncClient, body: Mapping[str, Json], until: float
    ) -> httpx.Response | httpx.TransportError:
        """Return the first answer that is not a transient failure, or the last failure if no try or time is left."""
        for attempt in range(self.retries):
            response = await self._try(client, body)
            if not isinstance(response, Exception) and not is_transient_status(response.status_code):
                return response
            retry_after = None if isinstance(response, Exception) else response.headers.get("Retry-After")
            pause = compute_pause(attempt, retry_after, now=datetime.now(UTC))
            if asyncio.get_running_loop().time() + pause >= until:
                return response
            await self._pause(pause)
        return await self._try(client, body)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _try(self, client: httpx.AsyncClient, body: Mapping[str, Json]) -> httpx.Response | httpx.TransportError:
        """Send one request. A broken connection is returned as a value, because the request may be tried again."""
        import httpx

        try:
            return await client.post(self.url, json=body)
        except httpx.TransportError as exc:
            return exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise self.failure(f"cannot be asked: {exc}") from self._cause(exc)

    def _decode(self, response: httpx.Response) -> object:
        if not response.is_success:
            raise self.failure(f"answered {response.status_code}: {make_excerpt(response.text, self._keys)}")
        try:
            return response.json()
        except ValueError as exc:
            raise self.failure(f"answered with no JSON: {make_excerpt(response.text, self._keys)}") from exc

    def failure(self, problem: str) -> ModelUnavailable:
        """Return an error that names the address without user name, password and query, and without the key."""
        scheme, _, rest = self.url.partition("://")
        place = f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
        return ModelUnavailable(f"{place} {mask_keys(problem, self._keys)}")

    @property
    def _keys(self) -> tuple[str, ...]:
        return (self.api_key or "", *list_url_keys(self.url))

    def _cause(self, error: Exception) -> Exception | None:
        """Return the error as a cause to show, unless a traceback of it would show a key."""
        return None if shows_key(f"{error!r} {error.__cause__!r} {error.__context__!r}", self._keys) else error

    @cached_property
    def _ssl_context(self) -> ssl.SSLContext | bool:
        """Return the TLS context. It is made once, because reading the certificates takes 10 ms or more. http needs
        none.
        """
        import httpx

        return httpx.create_ssl_context() if self.url.startswith("https://") and self.transport is None else True


def make_excerpt(text: str, keys: Sequence[str]) -> str:
    """Return the beginning of a server's words, for an error message. Keys are masked before the text is cut."""
    shown = mask_keys(text[:_MOST_READ], keys)
    return shown if len(shown) <= EXCERPT_CHARACTERS else f"{shown[:EXCERPT_CHARACTERS]}…"


def is_transient_status(status: int) -> bool:
    """Return true if an HTTP status describes a problem that may end soon."""
    return status in (408, 429) or status >= 500


def compute_pause(attempt: int, retry_after: str | None, *, now: datetime) -> float:
    """Return the seconds to wait after a failed attempt (0 is the first): the server's wish, or doubling. The most is
    30.

    ``retry_after`` is the value of the header: seconds, or an HTTP date.
    """
    asked = _parse_retry_after(retry_after, now) if retry_after else None
    return min(max(FIRST_PAUSE * 2**attempt if asked is None else asked, 0.0), LONGEST_PAUSE)


def _parse_retry_after(retry_after: str, now: datetime) -> float | None:
    if retry_after.strip().isdecimal():
        return float(retry_after)
    from email.utils import parsedate_to_datetime  # slow to load, and seldom needed

    try:
        return (parsedate_to_datetime(retry_after).astimezone(UTC) - now).total_seconds()
    except ValueError:
        return None
