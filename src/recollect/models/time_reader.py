"""The port for models that read a time which the rules cannot read: a question in, days out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Protocol

from recollect.domain.time import Interval, Precision


class TimeReader(Protocol):
    """Reads the time that a question asks about. It is the last stage of TEMPR's temporal parser (Hindsight, 4.2.2)."""

    @property
    def name(self) -> str:
        """Return the name for receipts."""
        ...

    async def read(self, question: str, now: datetime) -> Interval | None:
        """Return the days that a question asks about, in the zone of ``now``, or ``None`` if there are none or the
        answer is unclear.

        Raises:
            ModelError: the model could not be loaded or reached, or a limit forbids the call.
        """
        ...


def make_day_range(first: date, last: date, zone: tzinfo | None) -> Interval:
    """Return the days from the first to the last, both included.

    The precision of one day is that of a day. The precision of several days is that of a range, even if they are a
    whole month or a whole year.

    Raises:
        ValueError: the last day comes before the first.
        OverflowError: the calendar ends before the last day.
    """
    if last < first:
        raise ValueError(f"the end {last} comes before the start {first}")
    return Interval(
        start=datetime.combine(first, time(), tzinfo=zone),
        end=datetime.combine(last + timedelta(days=1), time(), tzinfo=zone),
        precision=Precision.DAY if first == last else Precision.RANGE,
    )
