"""Settings for calls to a language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from recollect.errors import InvalidInput

Structured = Literal["auto", "schema", "prompted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """Settings for calls to a language model: patience, concurrency, and the form of the answer."""

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
