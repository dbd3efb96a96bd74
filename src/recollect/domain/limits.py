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
_MOST_DIGITS: Final = 15
_UNIT_TOKENS: Final = {"": 1, "k": 1_000, "m": 1_000_000}


class Period(StrEnum):
    """The period of a limit: each day (UTC), or the whole life of the bank."""

    DAY = "day"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A maximum number of tokens, input and output together, for one role or for all roles.

    Raises:
        InvalidInput: ``tokens`` is negative.
    """

    tokens: int
    per: Period = Period.ALL
    role: str | None = None

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise InvalidInput(f"a limit of {self.tokens} tokens is not possible. Give 0 or more")

    def covers(self, role: str) -> bool:
        return self.role is None or self.role == role

    def since(self, now: datetime) -> datetime | None:
        """Return the moment from which tokens count: the beginning of the day in UTC, or ``None`` if all tokens
        count.
        """
        if self.per is Period.ALL:
            return None
        return datetime.combine(now.astimezone(UTC).date(), time(), UTC)

    def until(self, now: datetime) -> datetime | None:
        """Return the moment when a limit that is used up opens again, or ``None`` if it never does."""
        begin = self.since(now)
        return None if begin is None else begin + timedelta(days=1)

    def __str__(self) -> str:
        per = " a day" if self.per is Period.DAY else " in all"
        return f"{self.tokens:,} tokens{per}{f' for {self.role}' if self.role else ''}"


def find_exceeded_limit(limits: Sequence[Limit], spent: Mapping[Limit, int], needed: int) -> Limit | None:
    """Return the limit that a call would exceed, or ``None`` if there is none.

    If there are several, a limit without a period comes first, because it never opens again.

    Args:
        limits: the limits that cover the call.
        spent: the tokens that count against each limit so far, with those of calls that are still running.
        needed: the minimum number of tokens that the call costs.
    """
    broken = [limit for limit in limits if spent[limit] >= limit.tokens or spent[limit] + needed > limit.tokens]
    return min(broken, key=lambda limit: limit.per is Period.DAY, default=None)


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Read limits from a text such as ``2M/day,extract=500k/day,10M``. A limit without ``/day`` has no period.

    Raises:
        InvalidInput: a part of the text is not a limit.
    """
    return tuple(_parse_limit(part.strip()) for part in text.split(",") if part.strip())


def _parse_limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise InvalidInput(f"the limit {text!r} cannot be read; limits are written like {LIMITS_FORM}")
    if len(found["number"]) > _MOST_DIGITS:
        raise InvalidInput(f"the limit {text[:20]}... has too many digits. At most {_MOST_DIGITS} are read")
    tokens = round(float(found["number"]) * _UNIT_TOKENS[found["unit"].lower()])
    return Limit(tokens=tokens, per=Period(found["per"] or Period.ALL), role=found["role"])
