"""The seam to what reads a time that the rules could not: a question in, days out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Protocol

from recollect.domain.time import Interval, Precision


class TimeReader(Protocol):
    """Reads the time that a question asks about: the last stage of TEMPR's temporal parser (Hindsight, 4.2.2)."""

    @property
    def name(self) -> str:
        """What receipts call it."""
        ...

    async def read(self, question: str, now: datetime) -> Interval | None:
        """The days asked about, in the zone of ``now``; ``None`` where there are none, or no answer made sense.

        Raises:
            ModelError: the model could not be loaded or reached, or is not allowed.
        """
        ...


def whole_days(first: date, last: date, zone: tzinfo | None) -> Interval:
    """The days from the first to the last, both included; a range is never called a month or a year.

    Raises:
        ValueError: the last comes before the first.
        OverflowError: the calendar ends before it.
    """
    if last < first:
        raise ValueError(f"the end {last} comes before the start {first}")
    return Interval(
        start=datetime.combine(first, time(), tzinfo=zone),
        end=datetime.combine(last + timedelta(days=1), time(), tzinfo=zone),
        precision=Precision.DAY if first == last else Precision.RANGE,
    )
