"""Send a request to the endpoint with which a recording is made."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from recollect.errors import InvalidInput
from recollect_lab.recordings.recorded_reply import Body, Json

TIMEOUT_S = 3900.0

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An HTTP answer in JSON. ``retry_after`` is the value of that header."""

    status: int
    body: bytes
    retry_after: str | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def make_error_answer(status: int, problem: str) -> HttpAnswer:
    """Return an answer that describes an error, in the form of OpenAI's API."""
    value: Json = {"error": {"message": problem, "type": "recollect_replay", "code": None}}
    return HttpAnswer(status=status, body=json.dumps(value).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """An OpenAI-compatible endpoint.

    ``base_url`` ends before ``/chat/completions``. ``api_key`` and ``model`` replace those of the request.
    ``timeout_s`` is the time to wait for an answer, which a person may be writing by hand.

    Raises:
        InvalidInput: the address is not http(s).
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidInput(f"the upstream address {self.base_url!r} must begin with http:// or https://")

    def send(self, body: Body, authorization: str | None) -> HttpAnswer:
        """Send a request, wait, and return the answer. The endpoint's errors are answers too.

        The status is 502 if the endpoint cannot be reached, and 504 if it takes too long.
        """
        asked = {**body, "model": self.model} if self.model else body
        try:
            with self._opener().open(self._request(asked, authorization), timeout=self.timeout_s) as response:
                return HttpAnswer(status=response.status, body=response.read())
        except urllib.error.HTTPError as exc:
            with exc:
                return HttpAnswer(status=exc.code, body=exc.read(), retry_after=exc.headers.get("Retry-After"))
        except TimeoutError:
            return make_error_answer(504, f"the upstream did not answer within {self.timeout_s:.0f} s")
        except (OSError, http.client.HTTPException) as exc:  # refused, reset, unknown host, or cut off
            return make_error_answer(502, f"the upstream could not be reached: {exc}")

    def _request(self, body: Body, authorization: str | None) -> urllib.request.Request:
        bearer = f"Bearer {self.api_key}" if self.api_key else authorization
        return urllib.request.Request(
            f"{self.base_url.rstrip('/')}/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **({"Authorization": bearer} if bearer else {})},
        )

    def _opener(self) -> urllib.request.OpenerDirector:
        """Return an opener that uses the proxy of the environment, except for addresses of this machine."""
        own = urlsplit(self.base_url).hostname in _LOOPBACK
        return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if own else []))
