"""What can go wrong between here and a model: whether to try again, when, and how to say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from socket import gaierror
from typing import Final

from recollect.domain.usage import Usage
from recollect.errors import ModelUnavailable
from recollect.models._http import EXCERPT_CHARACTERS, LONGEST_PAUSE, may_pass

_NO_SCHEMA: Final = re.compile(
    r"(response|output).?(format|config|schema)|json.?(schema|object)|structured|grammar|guided", re.I
)
_NO_CONNECTION: Final = (
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "UnsupportedProtocol",
    "ClientConnectorError",
    "EndpointConnectionError",
    "ConnectTimeoutError",
)
_REFUSES_SCHEMA: Final = (400, 415, 422, 500, 501)


def is_passing(error: Exception) -> bool:
    """Whether what went wrong may be over soon."""
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, ModelQuotaExceededError, UnexpectedModelBehavior

    if isinstance(error, ModelQuotaExceededError):
        return False
    if isinstance(error, ModelHTTPError):
        hint = error.provider_retry_hint
        return may_pass(error.status_code) if hint is None else hint
    return isinstance(error, (TimeoutError, ModelAPIError, UnexpectedModelBehavior))


def refuses_schema(error: Exception) -> bool:
    """Whether a server complains about the JSON schema it was sent."""
    from pydantic_ai.exceptions import ModelHTTPError

    if not isinstance(error, ModelHTTPError) or error.status_code not in _REFUSES_SCHEMA:
        return False
    return _NO_SCHEMA.search(str(error.body)) is not None


def cost_of(error: Exception, sent: Usage) -> Usage:
    """What a request cost that failed with nothing heard of its tokens, ``sent`` being its call and its prompt.

    Nothing where it never left: no connection came about. A call without tokens where the server refused it: by a 4xx,
    or for its JSON schema. Else its prompt, since a model may have been reading it: after a timeout, a connection that
    broke, a 5xx, an answer that is none. A timeout of ours counts the same, wherever the request was by then.
    """
    from pydantic_ai.exceptions import ModelHTTPError, ModelQuotaExceededError, UserError

    if isinstance(error, UserError) or _never_left(error):
        return Usage()
    if isinstance(error, ModelQuotaExceededError) or refuses_schema(error):
        return Usage(calls=sent.calls)
    if isinstance(error, ModelHTTPError) and error.status_code < 500:
        return Usage(calls=sent.calls)
    return sent


def _never_left(error: BaseException | None) -> bool:
    """Whether no connection came about, by the names that the HTTP libraries of all providers have for that."""
    while error is not None:
        if isinstance(error, (ConnectionRefusedError, gaierror)) or type(error).__name__ in _NO_CONNECTION:
            return True
        error = error.__cause__
    return False


def pause_before(attempt: int, asked: float | None, *, first: float, share: float) -> float | None:
    """Seconds to wait after a failed attempt (0 is the first); ``None`` where the server asks for more patience.

    What the server asks for, up to 30 seconds, and a little more; else ``first``, doubled each time, half of it left to
    chance so that calls that failed together do not come back together.

    Args:
        attempt: how many attempts have failed before this one.
        asked: the ``Retry-After`` of the answer, in seconds.
        first: seconds after the first attempt.
        share: a random number from 0 to 1.
    """
    if asked is not None:
        return None if asked > LONGEST_PAUSE else max(asked, 0.0) + first * share / 2
    return min(first * 2.0 ** min(attempt, 16), LONGEST_PAUSE) * (0.5 + share / 2)


def unavailable(place: str, error: Exception, keys: Sequence[str]) -> ModelUnavailable:
    """The error in our words, to be raised in place of the vendor's; no key is shown, whoever quoted it."""
    return ModelUnavailable(masked(f"{place} {_problem(error)}", keys))


def masked(text: str, keys: Sequence[str]) -> str:
    for key in keys:
        text = text.replace(key, "[key]")
    return text


def shows_key(error: BaseException | None, keys: Sequence[str]) -> bool:
    """Whether a traceback of the error would print a key."""
    while error is not None:
        if any(key in f"{error}{getattr(error, 'body', '')}" for key in keys):
            return True
        error = error.__cause__ or error.__context__
    return False


def _problem(error: Exception) -> str:
    from pydantic_ai.exceptions import ModelHTTPError

    if isinstance(error, ModelHTTPError):
        return f"answered {error.status_code}: {_excerpt(_message(error.body))}"
    if isinstance(error, TimeoutError):
        return str(error) or "did not answer in time"
    root = _root(error)
    words = _excerpt(str(error))
    return f"could not be asked: {words}" if root is error else f"could not be asked: {words} ({_excerpt(str(root))})"


def _message(body: object) -> str:
    """The words of an error body, out of the wrappings that servers put around them."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message", inner) if isinstance(inner, dict) else inner
    return str(message)


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARACTERS else f"{text[:EXCERPT_CHARACTERS]}…"


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
