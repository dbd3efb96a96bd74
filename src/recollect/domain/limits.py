"""Limits on the tokens that a bank's model calls may cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final

from recollect.errors import InvalidInput

LIMITS_FORM: Final = "2M/day,extract=500k/day,10M"

_LIMIT: Final = re.compile(r"(?:(?P<role>[a-z]+)=)?(?P<number>\d+(?:\.\d+)?)(?P<unit>[kKmM]?)(?:/(?P<per>day|all))?")
_UNIT_TOKENS: Final = {"": 1, "k": 1_000, "m": 1_000_000}


class Period(StrEnum):
    """What a limit holds for: each day (UTC), or all that a bank ever spends."""

    DAY = "day"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """So many tokens, read and written together, for one role or for all of them.

    Raises:
        InvalidInput: ``tokens`` is negative.
    """

    tokens: int
    per: Period = Period.ALL
    role: str | None = None

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise InvalidInput(f"a limit of {self.tokens} tokens cannot be kept; it is 0 or more")

    def covers(self, role: str) -> bool:
        return self.role is None or self.role == role

    def since(self, now: datetime) -> datetime | None:
        """From when on tokens count: the beginning of the day in UTC, ``None`` for ever."""
        if self.per is Period.ALL:
            return None
        return datetime.combine(now.astimezone(UTC).date(), time(), UTC)

    def until(self, now: datetime) -> datetime | None:
        """When a limit that is used up opens again; ``None`` for never."""
        begin = self.since(now)
        return None if begin is None else begin + timedelta(days=1)

    def __str__(self) -> str:
        per = " a day" if self.per is Period.DAY else " in all"
        return f"{self.tokens:,} tokens{per}{f' for {self.role}' if self.role else ''}"


def find_exceeded_limit(limits: Sequence[Limit], spent: Mapping[Limit, int], needed: int) -> Limit | None:
    """The limit that a call would break, the one in all first, since it never opens again; ``None`` where all hold.

    Args:
        limits: those that cover the call.
        spent: tokens that count against each limit so far, calls under way included.
        needed: tokens that the call is going to cost at least.
    """
    broken = [limit for limit in limits if spent[limit] >= limit.tokens or spent[limit] + needed > limit.tokens]
    return min(broken, key=lambda limit: limit.per is Period.DAY, default=None)


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Limits as they are written: ``2M/day,extract=500k/day,10M``; without ``/day`` a limit is one in all.

    Raises:
        InvalidInput: a part cannot be read.
    """
    return tuple(_parse_limit(part.strip()) for part in text.split(",") if part.strip())


def _parse_limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise InvalidInput(f"the limit {text!r} cannot be read; limits are written like {LIMITS_FORM}")
    tokens = round(float(found["number"]) * _UNIT_TOKENS[found["unit"].lower()])
    return Limit(tokens=tokens, per=Period(found["per"] or Period.ALL), role=found["role"])
