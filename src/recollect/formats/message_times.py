"""Read the times of inputs, and give times to messages that have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from recollect.domain.checks import require_moment
from recollect.errors import InvalidInput
from recollect.formats.lines import quote_value

ErrorFactory = Callable[[str], InvalidInput]
"""Makes the error for a problem. It knows the place in the input."""

_MILLISECONDS = 1e11
"""A larger number would be seconds after the year 5000, so it counts milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMoment:
    """An aware time, and the text from which it was read. Message ids use the text, because no setting changes it."""

    at: datetime
    given: str


def parse_moment(value: object, zone: tzinfo | None, bad: ErrorFactory) -> GivenMoment:
    """Return a time from JSON: an ISO 8601 string, or a number of seconds since 1970.

    Raises:
        InvalidInput: raised through ``bad``; the value is neither, or neither the value nor ``zone`` gives a zone.
    """
    if isinstance(value, str):
        return GivenMoment(at=_parse_iso(value.strip(), zone, bad), given=value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return GivenMoment(at=_parse_epoch(value, zone, bad), given=repr(value))
    raise bad(f"a time must be ISO 8601 in a string or seconds since 1970 in a number, not {quote_value(value)}")


def _parse_iso(text: str, zone: tzinfo | None, bad: ErrorFactory) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as exc:
        raise bad(f"no ISO 8601 time: {quote_value(text)}; write it as in 2023-07-11T18:05:00+01:00") from exc
    return make_aware(at, text, zone, bad)


def _parse_epoch(value: float, zone: tzinfo | None, bad: ErrorFactory) -> datetime:
    if abs(value) >= _MILLISECONDS:
        raise bad(f"{quote_value(value)} is too large for seconds since 1970; divide milliseconds by 1000")
    try:
        at = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise bad(f"no time: {quote_value(value)}") from exc
    return _require_in_range(at, quote_value(value), bad).astimezone(zone or UTC)


def make_aware(at: datetime, given: str, zone: tzinfo | None, bad: ErrorFactory) -> datetime:
    """Return ``at`` in its own zone, or in ``zone`` if it has none.

    Raises:
        InvalidInput: raised through ``bad``; there is no zone, or the time is outside the years 1 to 9999.
    """
    if at.tzinfo is None:
        if zone is None:
            raise bad(
                f"the time {quote_value(given)} has no zone; write one (Z, +02:00), or say which zone is meant (zone)"
            )
        at = at.replace(tzinfo=zone)
    return _require_in_range(at, quote_value(given), bad)


def _require_in_range(at: datetime, given: str, bad: ErrorFactory) -> datetime:
    """Refuse a time that no message can have."""
    try:
        return require_moment(f"the time {given}", at)
    except InvalidInput as exc:
        raise bad(str(exc)) from exc


def add_seconds(at: datetime, seconds: int) -> datetime:
    """Return ``at`` plus some seconds of elapsed time, so that a change to summer time does not count."""
    try:
        return (at.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(at.tzinfo)
    except OverflowError:  # 29 December 9999
        return at


class SessionClock:
    """Times for the messages of one sitting. A message without a time follows the last known time by one second."""

    def __init__(self, began: datetime | None = None) -> None:
        self._known = began
        self._since = 0

    def next_time(self, given: datetime | None) -> datetime | None:
        """Return the time of the next message, or ``None`` as long as no time is known."""
        if given is not None:
            self._known, self._since = given, 1
            return given
        if self._known is None:
            return None
        self._since += 1
        return add_seconds(self._known, self._since - 1)
