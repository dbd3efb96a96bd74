"""Decide about problems between us and a model: if and when to try again, and how to describe the problem."""

from __future__ import annotations

import re
from collections.abc import Sequence
from socket import gaierror
from typing import Final

from recollect.domain.usage import Usage
from recollect.errors import ModelUnavailable
from recollect.models._http import LONGEST_PAUSE, is_transient_status, make_excerpt
from recollect.models.keys import mask_keys, shows_key

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
_LONGEST_TOLD: Final = 20_000  # a longer error is not searched for keys
_REFUSES_SCHEMA: Final = (400, 415, 422, 500, 501)


def is_transient(error: Exception) -> bool:
    """Return true if the problem may end soon."""
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, ModelQuotaExceededError, UnexpectedModelBehavior

    if isinstance(error, ModelQuotaExceededError):
        return False
    if isinstance(error, ModelHTTPError):
        hint = error.provider_retry_hint
        return is_transient_status(error.status_code) if hint is None else hint
    return isinstance(error, (TimeoutError, ModelAPIError, UnexpectedModelBehavior))


def refuses_schema(error: Exception) -> bool:
    """Return true if a server complains about the JSON schema in the request."""
    from pydantic_ai.exceptions import ModelHTTPError

    if not isinstance(error, ModelHTTPError) or error.status_code not in _REFUSES_SCHEMA:
        return False
    return _NO_SCHEMA.search(str(error.body)) is not None


def estimate_cost(error: Exception, sent: Usage) -> Usage:
    """Return the cost of a failed request without reported tokens. ``sent`` is the cost of the call and its prompt.

    A request that never left costs nothing, because no connection was made. A request that the server refused (a 4xx,
    or a refused JSON schema) costs a call without tokens. Any other request costs its prompt, because a model may have
    read it: after a timeout, a broken connection, a 5xx, or an unusable answer. Our own timeout counts in the same way.
    """
    from pydantic_ai.exceptions import ModelHTTPError, ModelQuotaExceededError, UserError

    if isinstance(error, UserError) or _was_never_sent(error):
        return Usage()
    if isinstance(error, ModelQuotaExceededError) or refuses_schema(error):
        return Usage(calls=sent.calls)
    if isinstance(error, ModelHTTPError) and error.status_code < 500:
        return Usage(calls=sent.calls)
    return sent


def _was_never_sent(error: BaseException | None) -> bool:
    """Return true if no connection was made. The HTTP libraries of all providers have names for that."""
    while error is not None:
        if isinstance(error, (ConnectionRefusedError, gaierror)) or type(error).__name__ in _NO_CONNECTION:
            return True
        error = error.__cause__
    return False


def compute_pause(attempt: int, asked: float | None, *, first: float, share: float) -> float | None:
    """Return the seconds to wait after a failed attempt (0 is the first), or ``None`` if the server asks for more
    patience.

    The pause is the server's wish, up to 30 seconds, and a little more. Without a wish it is ``first``, doubled each
    time. Half of it is random, so that calls that failed together do not return together.

    Args:
        attempt: how many attempts have failed before this one.
        asked: the ``Retry-After`` of the answer, in seconds.
        first: the seconds after the first attempt.
        share: a random number from 0 to 1.
    """
    if asked is not None:
        return None if asked > LONGEST_PAUSE else max(asked, 0.0) + first * share / 2
    return min(first * 2.0 ** min(attempt, 16), LONGEST_PAUSE) * (0.5 + share / 2)


def make_unavailable(place: str, error: Exception, keys: Sequence[str]) -> ModelUnavailable:
    """Return our error to raise instead of the vendor's. It shows no key, even if another text quoted one."""
    return ModelUnavailable(f"{place} {_describe_problem(error, keys)}")


def has_key(error: BaseException | None, keys: Sequence[str]) -> bool:
    """Return true if a traceback of the error would print a key, or is too long to be searched for one."""
    while error is not None:
        told = f"{error}{getattr(error, 'body', '')}"
        if len(told) > _LONGEST_TOLD or shows_key(told, keys):
            return True
        error = error.__cause__ or error.__context__
    return False


def _describe_problem(error: Exception, keys: Sequence[str]) -> str:
    from pydantic_ai.exceptions import ModelHTTPError

    if isinstance(error, ModelHTTPError):
        return f"answered {error.status_code}: {make_excerpt(_read_message(error.body), keys)}"
    if isinstance(error, TimeoutError):
        return mask_keys(str(error), keys) or "did not answer in time"
    root = _find_root(error)
    words = make_excerpt(str(error), keys)
    return (
        f"could not be asked: {words}"
        if root is error
        else f"could not be asked: {words} ({make_excerpt(str(root), keys)})"
    )


def _read_message(body: object) -> str:
    """Return the message of an error body, without the objects that servers put around it."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message", inner) if isinstance(inner, dict) else inner
    return str(message)


def _find_root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
