"""Offices as facts: "E92 was the R17 of E69 from 1980 to 1984", given to a bank with their messages as sources."""

from datetime import UTC

from recollect import Fact, Interval
from recollect.text.time_expressions.iso import parse_iso_date


def office(subject, post, object_, start, end, **more):
    """The fact that somebody held a post from a year to another, both included."""
    first, last = parse_iso_date(start, UTC), parse_iso_date(end, UTC)
    occurred = Interval(start=first.start, end=last.end, precision=first.precision)
    return Fact(subject=subject, predicate=f"was the {post} of", object=object_, occurred=occurred, **more)


E92 = office("E92", "R17", "E69", "1980", "1984")
E95 = office("E95", "R17", "E69", "1984", "1991")
E12 = office("E12", "R17", "E69", "1991", "1993")
E92_LATER = office("E92", "R3", "E5", "1985", "1990")
