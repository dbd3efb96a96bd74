"""How a language model is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from recollect.errors import InvalidInput

Structured = Literal["auto", "schema", "prompted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How a language model is called: how patiently, how often at once, and what it is told about its answer.

    ``structured``: ``schema`` sends the answer's JSON schema for the server to enforce, ``prompted`` writes it into the
    prompt, ``auto`` does the former until the server refuses it. ``corrections`` is how often a model is shown what is
    wrong with its answer, and may answer again. ``timeout`` is in seconds and holds for each request, for a stream for
    each wait on it. ``retries`` is how often a request is sent again after a timeout, a broken connection, a 408, 429
    or 5xx; ``pause`` the seconds before the first of them, doubled for each one after it. ``concurrency`` is how many
    requests are under way at once. ``temperature`` and ``max_tokens`` are not sent where they are ``None``; a model
    that allows no temperature is sent none. ``tags`` tells the endpoint what a request is for, as
    ``{"metadata": {"role": .., "operation": .., "subject": ..}}``: for recording and replaying alone.

    For a model that runs in this process: ``device`` is ``cpu``, ``cuda`` or ``mps``, the best there is where it is
    ``None``; ``states_bytes`` is how much its states may take beside each bank.

    Raises:
        InvalidInput: a number is out of its range, or ``structured`` none of the three.
    """

    structured: Structured = "auto"
    corrections: int = 2
    timeout: float = 60.0
    retries: int = 3
    pause: float = 0.5
    concurrency: int = 8
    temperature: float | None = 0.0
    max_tokens: int | None = None
    tags: bool = False
    device: str | None = None
    states_bytes: int = 4 * 1024**3

    def __post_init__(self) -> None:
        if self.structured not in get_args(Structured):
            raise InvalidInput(f"structured is {self.structured!r}; it is one of {', '.join(get_args(Structured))}")
        if self.corrections < 0 or self.retries < 0 or self.pause < 0:
            raise InvalidInput("corrections, retries and pause must be 0 or more")
        if self.timeout <= 0 or self.concurrency < 1 or (self.max_tokens is not None and self.max_tokens < 1):
            raise InvalidInput("timeout must be over 0, concurrency and max_tokens at least 1")
        if self.states_bytes < 1:
            raise InvalidInput("states_bytes must be at least 1")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise InvalidInput(f"temperature is {self.temperature}; it is between 0 and 2")
